#include "engine/train/update_stage.h"

#include <algorithm>

#include "engine/train/state_tensors.h"

namespace spire {
UpdateStage::UpdateStage(const RunConfig& config, DeviceSet& devices, const ParameterLayout& layout,
                         const Ownership& who)
    : config_(config),
      devices_(devices),
      layout_(layout),
      who_(who),
      layerwise_(is_layerwise(config.optimizer)),
      loss_scale_(config.loss_scale, config.precision == RunConfig::Precision::fp16),
      updates_(static_cast<size_t>(devices.local().size())),
      shards_(devices.members().size()) {
  const Placement& placement = devices_.placement();
  auto spans = weight_spans(config_.optimizer, layout_);
  if (layerwise_) make_norms(spans);
  for (int d = devices_.local().begin; d < devices_.local().end; ++d) {
    ParameterUpdate::Options& update = of_device(d).options;
    update.config = &config_;
    update.memory = &devices_.pool(d);
    update.on_host = placement.updates_on_host;
    update.host_lanes = placement.host_lanes;
    update.spans = spans;
    update.owned = who_.updated_by({d, d + 1, who_.devices});
    update.norms = of_device(norms_device(d)).norms.get();
  }
}

// A device that updates everything measures for itself; those that update the replica of their
// front share its table. Shards of several members need each other's norms.
void UpdateStage::make_norms(const std::vector<WeightSpan>& spans) {
  for (int d = devices_.local().begin; d < devices_.local().end; ++d) {
    if (norms_device(d) == d) of_device(d).norms = std::make_unique<TensorNorms>(spans);
  }
  if (!who_.shards_state() || devices_.member_count() == 1) return;
  for (const LocalMember& member : devices_.members()) {
    auto numbers = who_.chunks_of_members();
    for (auto& chunks : numbers) chunks = of_device(member.front).norms->of_chunks(chunks);
    shards_[static_cast<size_t>(member.position)].norms =
        std::make_unique<ShardExchange>(numbers, member.communicator.get(), sizeof(double));
  }
}

MemoryUse UpdateStage::memory(int device) const {
  const DeviceUpdate& update = of_device(device);
  MemoryUse use;
  if (!update.options.owned.empty())
    use[MemoryKind::optimizer] += update_bytes(update.options, layout_);
  if (update.norms) use[MemoryKind::optimizer] += update.norms->bytes();
  if (loss_scale_.on()) use[MemoryKind::optimizer] += DeviceLossScale::bytes;
  return use;
}

void UpdateStage::allocate() {
  for (int d = devices_.local().begin; d < devices_.local().end; ++d) {
    DeviceUpdate& update = of_device(d);
    if (update.norms) update.norms->allocate(devices_.pool(d));
    if (loss_scale_.on())
      update.loss_scale = std::make_unique<DeviceLossScale>(devices_.pool(d), loss_scale_.config(),
                                                            loss_scale_.state());
  }
}

// Addresses are known once gradients and replicas are allocated.
void UpdateStage::connect(GradientStage& gradients) {
  for (const LocalMember& member : devices_.members()) {
    MemberShards& shards = shards_[static_cast<size_t>(member.position)];
    shards.weights =
        std::make_unique<ShardExchange>(who_.shards_of_members(), member.communicator.get());
    shards.squares = gradients.squares(member);
  }
  for (int d = devices_.local().begin; d < devices_.local().end; ++d) {
    DeviceUpdate& update = of_device(d);
    if (update.options.owned.empty()) continue;
    LocalMember& member = devices_.member_of(d);
    bool own = who_.updates_every_replica();
    update.options.squares = gradients.squares(member);
    if (devices_.on_gpus()) update.options.sums = gradients.sums(member);
    update.options.weights =
        own ? devices_.replica(d).values() : devices_.front_replica(member).values();
    make_update(update);
  }
  if (!devices_.on_gpus()) make_pass(gradients);
}

void UpdateStage::make_update(DeviceUpdate& update) {
  if (!devices_.on_gpus()) {
    update.update = std::make_unique<CpuUpdate>(update.options, layout_);
    return;
  }
  auto make = update.options.on_host ? make_cpu_update_of_gpu : make_cuda_update;
  auto on_gpu = make(update.options, layout_);
  update.on_gpu = on_gpu.get();
  update.update = std::move(on_gpu);
}

// Where devices update their own replicas, the lanes of each divide the weights among them; else
// all lanes of the process do.
void UpdateStage::make_pass(GradientStage& gradients) {
  Share local = devices_.local();
  std::vector<CpuPass::Group> groups;
  if (who_.updates_every_replica()) {
    for (int d = local.begin; d < local.end; ++d)
      groups.push_back(pass_group({d, d + 1, local.of}));
  } else {
    groups.push_back(pass_group(local));
  }
  pass_ = std::make_unique<CpuPass>(devices_, gradients, std::move(groups));
}

// Of devices whose lanes all update one replica: their only one, or that of their front.
CpuPass::Group UpdateStage::pass_group(Share devices) {
  CpuPass::Group group;
  group.ranges = who_.updated_by(devices);
  group.updated = who_.updates_every_replica()
                      ? &devices_.replica(devices.begin)
                      : &devices_.front_replica(devices_.member_of(devices.begin));
  for (int d = devices.begin; d < devices.end; ++d) {
    group.lanes += devices_.device(d).lanes;
    if (devices_.member_count() == 1) group.replicas.push_back(&devices_.replica(d));
    if (auto& update = of_device(d).update)
      group.updates.push_back(static_cast<CpuUpdate*>(update.get()));
  }
  return group;
}

void UpdateStage::update(int lane, const ParameterUpdate::Step& given) {
  DeviceUpdate& device = of_device(devices_.lane_position(lane).device);
  Stream& stream = devices_.stream(lane);
  devices_.status().enter(lane, Phase::update);
  ParameterUpdate::Step step = given;
  // The updating processor reads the scale: the GPU its own, a host that updates the host's.
  if (device.loss_scale)
    step.loss_scale = device.options.on_host ? &loss_scale_.state() : device.loss_scale->state();
  if (layerwise_) {
    if (pass_) pass_->measure(lane, step);
    if (device.on_gpu) device.on_gpu->measure(step, stream);
    exchange_norms(lane);
  }
  if (pass_) pass_->update(lane, step);
  if (device.on_gpu) device.on_gpu->update(step, stream);
}

// On return all lanes have measured, and members whose weights are shards know each other's norms.
void UpdateStage::exchange_norms(int lane) {
  devices_.meet(lane);
  ShardExchange* norms = shards_of_lane(lane).norms.get();
  if (!norms) return;
  const LocalMember& member = devices_.member_of_lane(lane);
  if (lane == member.lane)
    norms->all_gather(of_device(member.front).norms->table().data(), devices_.stream(lane));
  devices_.meet(lane);
}

void UpdateStage::adjust_loss_scale(int lane) {
  DeviceLossScale* scale = of_device(devices_.lane_position(lane).device).loss_scale.get();
  if (scale) scale->follow(shards_of_lane(lane).squares, devices_.stream(lane));
}

const double* UpdateStage::device_loss_scale(int lane) {
  DeviceLossScale* scale = of_device(devices_.lane_position(lane).device).loss_scale.get();
  return scale ? &scale->state()->scale : nullptr;
}

void UpdateStage::publish(int lane) {
  if (pass_replicates()) return pass_->finish(lane);
  exchange_weights(lane);
  replicate(lane);
}

// Sends weights to the front replicas of the other members.
void UpdateStage::exchange_weights(int lane) {
  if (devices_.member_count() == 1 || who_.updates_every_replica()) return;
  const LocalMember& member = devices_.member_of_lane(lane);
  if (lane == member.lane) {
    float* weights = devices_.front_replica(member).values();
    ShardExchange& shards = *shards_of_lane(lane).weights;
    if (who_.shards_state())
      shards.all_gather(weights, devices_.stream(lane));
    else
      shards.broadcast(weights, devices_.stream(lane), who_.root);
  }
  devices_.meet(lane);
}

// Copies weights from the front replica to the others of its member, each lane its part.
void UpdateStage::replicate(int lane) {
  LanePosition at = devices_.lane_position(lane);
  Stream& stream = devices_.stream(lane);
  Replica& replica = devices_.replica(at.device);
  Replica& front = devices_.front_replica(devices_.member_of(at.device));
  bool copies = !who_.updates_every_replica();
  if (copies && &replica != &front) {
    int64_t size = layout_.gradient_floats();  // all but the frozen weights
    int64_t begin = size * at.part / at.parts, end = size * (at.part + 1) / at.parts;
    stream.copy(replica.values() + begin, front.values() + begin,
                static_cast<size_t>(end - begin) * sizeof(float));
  }
  // A lane packs what others have copied, where there is a replica besides the fronts.
  bool has_copies = static_cast<size_t>(devices_.local().size()) > devices_.members().size();
  if (copies && has_copies) devices_.meet(lane);
  replica.forms.pack_for_step(replica.values(), at.part, at.parts, stream);
}

void UpdateStage::pack_for_evaluation(int lane) {
  LanePosition at = devices_.lane_position(lane);
  Replica& replica = devices_.replica(at.device);
  replica.forms.pack_for_evaluation(replica.values(), at.part, at.parts, devices_.stream(lane));
}

void UpdateStage::pack_frozen(int lane) {
  LanePosition at = devices_.lane_position(lane);
  Replica& replica = devices_.replica(at.device);
  replica.forms.pack_frozen(replica.values(), at.part, at.parts, devices_.stream(lane));
}

// Weights are swapped with their average where they are updated; the result reaches every replica
// as an update does.
void UpdateStage::swap_average(int lane) {
  GpuUpdate* on_gpu = of_device(devices_.lane_position(lane).device).on_gpu;
  if (pass_) pass_->swap_average(lane);
  if (on_gpu) on_gpu->swap_average(devices_.stream(lane));
  devices_.meet(lane);
  exchange_weights(lane);
  replicate(lane);
}

void UpdateStage::begin_average() {
  for (DeviceUpdate& device : updates_) {
    if (device.update) device.update->begin_average();
  }
}

// Lanes and kernels read the config's other numbers in each step.
void UpdateStage::take_optimizer() {
  const std::vector<WeightSpan> spans = weight_spans(config_.optimizer, layout_);
  for (DeviceUpdate& device : updates_)
    if (device.norms) device.norms->number(spans);
  for (DeviceUpdate& device : updates_) {
    device.options.spans = spans;
    if (device.update) device.update->set_spans(spans);
  }
}

void UpdateStage::write_weights(const float* values) {
  for (int d = devices_.local().begin; d < devices_.local().end; ++d)
    devices_.replica(d).write(values);
  for (DeviceUpdate& device : updates_) {
    if (device.update) device.update->weights_written({0, layout_.total_floats()}, values);
  }
}

void UpdateStage::write_weight(FloatRange range, const float* values) {
  for (int d = devices_.local().begin; d < devices_.local().end; ++d)
    devices_.replica(d).weights->write(values, static_cast<size_t>(range.size()) * sizeof(float),
                                       static_cast<size_t>(range.begin) * sizeof(float));
  for (DeviceUpdate& device : updates_) {
    if (!device.update) continue;
    device.update->weights_written(range, values);
    if (averages() && range.end <= layout_.trained_floats())
      device.update->copy_state_in(slots().size() - 1, range, values);
  }
}

void UpdateStage::restore_loss_scale(const LossScaleState& state) {
  loss_scale_.restore(state);
  for (DeviceUpdate& device : updates_) {
    if (device.loss_scale) device.loss_scale->set(loss_scale_.state());
  }
}

std::vector<std::string> UpdateStage::slots() const {
  auto names = slot_names(config_.optimizer);
  if (averages()) names.emplace_back(average_slot);
  return names;
}

void UpdateStage::copy_state_out(size_t slot, FloatRange window, float* flat) const {
  for (const DeviceUpdate& device : updates_) {
    if (device.update) device.update->copy_state_out(slot, window, flat);
  }
}

void UpdateStage::copy_state_in(size_t slot, FloatRange window, const float* flat) {
  for (DeviceUpdate& device : updates_) {
    if (device.update) device.update->copy_state_in(slot, window, flat);
  }
}

}  // namespace spire
