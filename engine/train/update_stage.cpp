#include "engine/train/update_stage.h"

#include <algorithm>

#include "engine/train/state_tensors.h"

namespace spire {
namespace {

// Returns, of each member, the ranges of a table whose entries it owns.
std::vector<std::vector<FloatRange>> ranges_of(const std::vector<int>& owners, int members) {
  std::vector<std::vector<FloatRange>> ranges(static_cast<size_t>(members));
  for (size_t i = 0; i < owners.size(); ++i) {
    auto& own = ranges[static_cast<size_t>(owners[i])];
    auto at = static_cast<int64_t>(i);
    if (own.empty() || own.back().end != at) own.push_back({at, at});
    ++own.back().end;
  }
  return ranges;
}

// Returns the member that has each chunk of the gradients' sum, and so knows its square.
std::vector<int> chunk_owners(const BucketReducer::Options& reducer, int64_t trained_floats) {
  std::vector<int> owners(static_cast<size_t>(TreeSum::chunks_of(trained_floats)));
  auto shards = reducer.chunk_shards(trained_floats);
  for (size_t member = 0; member < shards.size(); ++member) {
    for (FloatRange own : shards[member])
      std::fill(owners.begin() + own.begin, owners.begin() + own.end, static_cast<int>(member));
  }
  return owners;
}

}  // namespace

UpdateStage::UpdateStage(DeviceSet& devices, const ParameterLayout& layout,
                         const UpdateStrategy& strategy, const Options& options)
    : devices_(devices),
      layout_(layout),
      strategy_(strategy),
      optimizer_(options.optimizer),
      ema_(options.ema),
      layerwise_(is_layerwise(options.optimizer)),
      loss_scale_(options.loss_scale, options.precision == DType::f16),
      updates_(static_cast<size_t>(devices.local().size())),
      shards_(devices.members().size()) {
  const Placement& placement = devices_.placement();
  for (const Member& member : placement.members)
    owned_.push_back(shards_of(options.buckets, member.devices));
  auto spans = weight_spans(options.optimizer, layout_);
  if (layerwise_) make_norms(spans, options.reducer);
  for (int d = devices_.local().begin; d < devices_.local().end; ++d) {
    ParameterUpdate::Options& update = of_device(d).options;
    update.optimizer = options.optimizer;
    update.ema = options.ema;
    update.memory = &devices_.pool(d);
    update.on_host = placement.updates_on_host;
    update.host_lanes = placement.host_lanes;
    update.spans = spans;
    update.owned = strategy_.owned(d);
    update.parts = devices_.device(d).lanes;
    update.norms = of_device(norms_device(d)).norms.get();
  }
}

// A device that updates everything measures for itself; those that update the replica of their
// front share its table. Shards of several members need each other's norms.
void UpdateStage::make_norms(const std::vector<WeightSpan>& spans,
                             const BucketReducer::Options& reducer) {
  for (int d = devices_.local().begin; d < devices_.local().end; ++d) {
    if (norms_device(d) == d) of_device(d).norms = std::make_unique<TensorNorms>(spans);
  }
  if (!strategy_.shards_state() || devices_.member_count() == 1) return;
  for (const LocalMember& member : devices_.members()) {
    auto owners =
        of_device(member.front).norms->owners(chunk_owners(reducer, layout_.trained_floats()));
    shards_[static_cast<size_t>(member.position)].norms = std::make_unique<ShardExchange>(
        ranges_of(owners, devices_.member_count()), member.communicator.get(), sizeof(double));
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
  bool one_pass = UpdatePass::suits(devices_.placement(), optimizer_);
  for (const LocalMember& member : devices_.members()) {
    MemberShards& shards = shards_[static_cast<size_t>(member.position)];
    shards.weights = std::make_unique<ShardExchange>(owned_, member.communicator.get());
    shards.squares = gradients.squares(member);
  }
  for (int d = devices_.local().begin; d < devices_.local().end; ++d) {
    DeviceUpdate& update = of_device(d);
    if (update.options.owned.empty()) continue;
    LocalMember& member = devices_.member_of(d);
    bool own = strategy_.updates_every_replica();
    update.options.squares = gradients.squares(member);
    if (!one_pass) update.options.sums = gradients.sums(member);  // the pass hands over its own
    update.options.weights =
        own ? devices_.replica(d).values() : devices_.front_replica(member).values();
    make_update(update, one_pass);
  }
  if (one_pass) make_pass(gradients);
}

void UpdateStage::make_update(DeviceUpdate& update, bool one_pass) {
  if (!one_pass) {
    update.update = make_parameter_update(update.options, layout_);
    return;
  }
  auto host = std::make_unique<HostUpdate>(update.options, layout_);
  update.in_pass = host.get();
  update.update = std::move(host);
}

// Where devices update their own replicas, the lanes of each divide the weights among them; else
// all lanes do, and keep all replicas alike.
void UpdateStage::make_pass(GradientStage& gradients) {
  Share local = devices_.local();
  std::vector<UpdatePass::Group> groups;
  if (strategy_.updates_every_replica()) {
    for (int d = local.begin; d < local.end; ++d)
      groups.push_back(pass_group(d, d + 1, devices_.replica(d)));
  } else {
    Replica& updated = devices_.front_replica(devices_.members().front());
    groups.push_back(pass_group(local.begin, local.end, updated));
  }
  pass_ = std::make_unique<UpdatePass>(devices_, gradients, layout_.gradient_floats(),
                                       std::move(groups));
}

// Of the devices [first, last), whose lanes all update the replica `updated`.
UpdatePass::Group UpdateStage::pass_group(int first, int last, Replica& updated) {
  UpdatePass::Group group;
  group.updated = &updated;
  for (int d = first; d < last; ++d) {
    group.lanes += devices_.device(d).lanes;
    group.replicas.push_back(&devices_.replica(d));
    if (auto* update = of_device(d).in_pass) group.updates.push_back(update);
  }
  return group;
}

void UpdateStage::update(int lane, const ParameterUpdate::Step& given) {
  if (pass_) {
    devices_.status().enter(lane, Phase::update);
    return pass_->run(lane, given);
  }
  LaneSite site = devices_.site(lane);
  DeviceUpdate& device = of_device(site.device);
  Stream& stream = devices_.stream(lane);
  if (device.update) devices_.status().enter(lane, Phase::update);
  ParameterUpdate::Step step = given;
  // The updating processor reads the scale: the GPU its own, a host that updates the host's.
  if (device.loss_scale)
    step.loss_scale = device.options.on_host ? &loss_scale_.state() : device.loss_scale->state();
  if (layerwise_) {
    if (device.update) device.update->measure(site.part, step, stream);
    exchange_norms(lane);
  }
  if (device.update) device.update->update(site.part, step, stream);
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

void UpdateStage::follow_loss_scale(int lane) {
  DeviceLossScale* scale = of_device(devices_.site(lane).device).loss_scale.get();
  if (scale) scale->follow(shards_of_lane(lane).squares, devices_.stream(lane));
}

const double* UpdateStage::device_loss_scale(int lane) {
  DeviceLossScale* scale = of_device(devices_.site(lane).device).loss_scale.get();
  return scale ? &scale->state()->scale : nullptr;
}

void UpdateStage::publish(int lane) {
  if (pass_) return pass_->finish(lane);
  exchange_weights(lane);
  replicate(lane);
}

// Sends weights to the front replicas of the other members.
void UpdateStage::exchange_weights(int lane) {
  if (devices_.member_count() == 1 || strategy_.updates_every_replica()) return;
  const LocalMember& member = devices_.member_of_lane(lane);
  if (lane == member.lane)
    strategy_.publish(devices_.front_replica(member).values(), *shards_of_lane(lane).weights,
                      devices_.stream(lane));
  devices_.meet(lane);
}

// Copies weights from the front replica to the others of its member, each lane its part.
void UpdateStage::replicate(int lane) {
  LaneSite site = devices_.site(lane);
  Stream& stream = devices_.stream(lane);
  Replica& replica = devices_.replica(site.device);
  Replica& front = devices_.front_replica(devices_.member_of(site.device));
  bool copies = !strategy_.updates_every_replica();
  if (copies && &replica != &front) {
    int64_t size = layout_.gradient_floats();  // all but the frozen weights
    int64_t begin = size * site.part / site.parts, end = size * (site.part + 1) / site.parts;
    stream.copy(replica.values() + begin, front.values() + begin,
                static_cast<size_t>(end - begin) * sizeof(float));
  }
  // A lane packs what others have copied, where there is a replica besides the fronts.
  bool has_copies = static_cast<size_t>(devices_.local().size()) > devices_.members().size();
  if (copies && has_copies) devices_.meet(lane);
  replica.forms.pack_for_step(replica.values(), site.part, site.parts, stream);
}

void UpdateStage::pack_for_evaluation(int lane) {
  LaneSite site = devices_.site(lane);
  Replica& replica = devices_.replica(site.device);
  replica.forms.pack_for_evaluation(replica.values(), site.part, site.parts, devices_.stream(lane));
}

void UpdateStage::pack_frozen(int lane) {
  LaneSite site = devices_.site(lane);
  Replica& replica = devices_.replica(site.device);
  replica.forms.pack_frozen(replica.values(), site.part, site.parts, devices_.stream(lane));
}

// Weights are swapped with their average where they are updated; the result reaches every replica
// as an update does.
void UpdateStage::swap_average(int lane) {
  LaneSite site = devices_.site(lane);
  ParameterUpdate* update = of_device(site.device).update.get();
  if (update) update->swap_average(site.part, devices_.stream(lane));
  devices_.meet(lane);
  exchange_weights(lane);
  replicate(lane);
}

void UpdateStage::begin_average() {
  for (DeviceUpdate& device : updates_) {
    if (device.update) device.update->begin_average();
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
    if (ema_.decay > 0 && range.end <= layout_.trained_floats())
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
  auto names = slot_names(optimizer_);
  if (ema_.decay > 0) names.emplace_back(average_slot);
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
