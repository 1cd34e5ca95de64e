// The parts of a trainer and their memory: all are compiled, then planned, then allocated.
#include <algorithm>
#include <cmath>

#include "engine/base/fail.h"
#include "engine/graph/finetuning.h"
#include "engine/graph/passes.h"
#include "engine/train/memory/memory_limits.h"
#include "engine/train/run_tuning.h"
#include "engine/train/tower_trainer.h"
#include "engine/update/ownership.h"
#include "models/adapters.h"

namespace spire {
namespace {

// Returns the sample counts of towers, other than 0 and batch_size, in whole global batches and in
// the datasets' last ones; or all that there are.
std::vector<int64_t> ragged_samples(bool any, std::initializer_list<int64_t> datasets,
                                    const Placement& placement) {
  std::vector<int64_t> counts;
  for (int64_t count = 1; any && count < placement.batch_size; ++count) counts.push_back(count);
  if (any) return counts;
  auto add = [&](int64_t batch) {
    int64_t rest = batch % placement.batch_size;
    if (rest != 0) counts.push_back(rest);
  };
  add(placement.global_batch);
  for (int64_t samples : datasets) add(samples % placement.global_batch);
  return counts;
}

// The options outlive the builder.
GraphBuilder graph_builder(const TowerTrainerOptions& options) {
  return [&options](int64_t batch, bool training) { return options.build(batch, training); };
}

// Images of evaluations may have another size than those of training: the model must have the same
// parameters for both.
void require_same_parameters(const TowerTrainerOptions& options, int64_t batch,
                             const ParameterLayout& layout) {
  const Column &train = options.train_columns.front(), &test = options.test_columns.front();
  if (train.shape == test.shape) return;
  Graph graph = options.build(batch, false);
  for (Role role : {Role::parameter, Role::state})
    for (Value value : graph.values_of(role)) {
      const Tensor& tensor = graph.tensor(value);
      const Shape& trained = layout.find(tensor.name).shape;
      if (tensor.spec.shape != trained)
        fail(Category::config,
             "data.image.eval_size: '{}' has shape {} for training images {}, but {} for {} in "
             "evaluations; use a model that reads any size, such as resnet, or leave out "
             "data.image.eval_size",
             tensor.name, to_string(trained), to_string(train.shape), to_string(tensor.spec.shape),
             to_string(test.shape));
    }
}

// Plans have lists of buckets, which would themselves be large: no machine has 16 TiB for weights.
void require_possible_size(const ParameterLayout& layout) {
  constexpr int64_t most = int64_t{1} << 42;
  int64_t floats = layout.total_floats();
  if (floats <= most) return;
  fail(Category::out_of_memory,
       "the weights alone, {} numbers, take {:.0f} TiB, and no device has that; make the model "
       "smaller",
       floats, std::ldexp(static_cast<double>(floats), -38));
}

Ownership ownership_of(const Placement& placement, const BucketConfig& bucket,
                       const ParameterLayout& layout) {
  Ownership who{
      .strategy = placement.strategy,
      .reduction = placement.reduction,
      .towers = placement.towers,
      .devices = static_cast<int>(placement.devices.size()),
      .parameter_device = placement.parameter_device,
      .root = placement.devices[static_cast<size_t>(placement.parameter_device)].member,
      .members = {},
      .buckets = make_buckets(layout.gradient_floats(), bucket, placement.devices[0].id.kind,
                              static_cast<int>(placement.members.size())),
      .trained = layout.trained_floats(),
      .rounds_to_bf16 = placement.rounds_to_bf16};
  for (const Member& member : placement.members)
    who.members.push_back({member.devices, member.towers, member.peers});
  return who;
}

// Whether all sums are made before the update: where it needs their norm, where it runs on GPUs, or
// where several devices or processes need each sum.
bool sums_first(const TowerTrainerOptions& options, const Ownership& who, bool on_gpus) {
  bool shared = who.members.size() > 1 || (who.updates_every_replica() && who.devices > 1);
  const OptimizerConfig& optimizer = options.config.optimizer;
  bool norm = options.judged || optimizer.clip_norm > 0 || is_layerwise(optimizer);
  return on_gpus || shared || norm;
}

LaneOptions lane_options(const TowerTrainerOptions& options, const Placement& placement,
                         const Ownership& who, size_t steps_under_way) {
  LaneOptions lane;
  lane.recompute = recomputes(options.config);
  lane.record = options.config.cuda.graphs && placement.lanes[0].device.kind == DeviceKind::cuda;
  lane.shows_outputs = options.shows_outputs;
  lane.steps_under_way = static_cast<int>(steps_under_way);
  // With several members each bucket is exchanged as soon as it is complete.
  if (who.members.size() == 1)
    lane.graph_ends = {who.floats()};
  else
    for (FloatRange bucket : who.buckets) lane.graph_ends.push_back(bucket.end);
  lane.measures_ragged = !options.any_batch;
  lane.ragged_train = ragged_samples(options.any_batch, {options.train_samples}, placement);
  lane.ragged_eval =
      ragged_samples(options.any_batch, {options.test_samples, options.val_samples}, placement);
  return lane;
}

// Has the lanes watched while it lives.
class WatchedLanes {
 public:
  WatchedLanes(const TowerTrainerOptions& options, ThreadStatus& lanes)
      : watch_(options.watch_lanes), lanes_(lanes) {
    lanes_.enter(0, Phase::setup);
    if (watch_) watch_(&lanes_);
  }
  ~WatchedLanes() {
    lanes_.enter(0, Phase::idle);
    if (watch_) watch_(nullptr);
  }
  WatchedLanes(const WatchedLanes&) = delete;
  WatchedLanes& operator=(const WatchedLanes&) = delete;

 private:
  const std::function<void(const ThreadStatus*)>& watch_;
  ThreadStatus& lanes_;
};

}  // namespace

ModelInput TowerTrainerOptions::input(int64_t batch, bool training) const {
  return {.columns = training ? train_columns : test_columns,
          .classes = classes,
          .batch = batch,
          .dtype = compute_dtype(config),
          .table = table,
          .target_scale = target_scale,
          .teacher = training ? teacher.get() : nullptr};
}

Graph TowerTrainerOptions::build_model_alone(int64_t batch, bool training) const {
  ModelInput inputs = input(batch, training);
  return own_model ? build_own_model(*own_model, config.loss, inputs, training)
                   : build_model(config.model, config.loss, inputs, training);
}

Graph TowerTrainerOptions::build(int64_t batch, bool training) const {
  Graph graph = build_model_alone(batch, training);
  const LoraConfig& lora = config.adapt.lora;
  adapt_dense_layers(graph, lora);
  FreezeOptions freeze{config.freeze, config.freeze_batch_norm};
  freeze_parameters(graph, freeze_beside_adapters(graph, lora, freeze));
  if (exact_batch > 0) use_exact_ops(graph, exact_batch);
  return graph;
}

Graph TowerTrainerOptions::build_for_rows(int64_t batch) const {
  if (own_model) return build(batch, false);
  ModelInput inputs = input(batch, false);
  inputs.columns = unpacked_columns(std::move(inputs.columns));
  Graph graph = build_model(config.model, config.loss, inputs, false);
  adapt_dense_layers(graph, config.adapt.lora);
  return graph;
}

TowerTrainer::TowerTrainer(const TowerTrainerOptions& options, const Placement& placement,
                           ProcessGroup* group)
    : config_(options.config), placement_(placement), group_(group) {
  make_devices(options);
  WatchedLanes watched(options, devices_->status());
  make_stages(options);
  plan_memory();
  state_->choose_snapshot(options.snapshot);  // which adds it to the plan
  if (options.plan_only) return;
  allocate_memory();
  gradients_->connect();
  update_->connect(*gradients_);
  for (StepMetrics& metrics : metrics_)
    metrics.allocate(*devices_, gradients_->squares(devices_->members().front()));
  make_profiler_spans();
  all_gather_ = std::make_unique<HostAllGather>(StepMetrics::owners(placement_), group_);
  initialize();
}

void TowerTrainer::make_devices(const TowerTrainerOptions& options) {
  GraphBuilder build = graph_builder(options);
  layout_ = make_layout(build, placement_.batch_size);
  require_possible_size(layout_);
  require_same_parameters(options, placement_.batch_size, layout_);
  check_factors(config_.optimizer, layout_);  // before plans are compiled, which takes long
  if (config_.optimizer.own && placement_.lanes[0].device.kind == DeviceKind::cuda &&
      !placement_.updates_on_host)
    fail(Category::config,
         "the program's optimizer updates weights on CPUs; with GPUs set parameter_device: cpu");
  who_ = ownership_of(placement_, config_.bucket, layout_);
  // The message of a shortage. Blocks are known when the plans are, after the devices.
  MemoryRemedies remedies;
  remedies.batch_size = placement_.batch_size;
  remedies.devices = static_cast<int>(placement_.devices.size());
  remedies.sharded = who_.shards_state();
  remedies.can_skip_snapshot = !who_.shards_state() || placement_.ranks == 1;
  auto explain = [this, remedies](const MemoryShortage& shortage) {
    MemoryRemedies now = remedies;
    now.can_recompute = !recomputes(config_) && gradients_ && gradients_->has_blocks();
    return out_of_memory_text(shortage, now);
  };
  devices_ = std::make_unique<DeviceSet>(
      config_, placement_, layout_, group_,
      DeviceSet::Options{
          .tuning = options.tuning, .connects = !options.plan_only, .explain = explain});
}

// Rank 0 chooses engines as its lanes compile, and the others compile with its choices.
void TowerTrainer::make_stages(const TowerTrainerOptions& options) {
  GraphBuilder build = graph_builder(options);
  auto share_choices = [&] {
    if (options.tuning && group_ && devices_->on_gpus()) share_tuning(*options.tuning, *group_);
  };
  if (placement_.rank > 0) share_choices();
  gradients_ = std::make_unique<GradientStage>(
      *devices_, layout_, who_,
      GradientStage::Options{build, lane_options(options, placement_, who_, metrics_.size()),
                             sums_first(options, who_, devices_->on_gpus())});
  if (options.sample_rows > 0 && placement_.rank == 0) {
    int device = placement_.lane_device[0];
    team().lead([&] {
      sampler_ = std::make_unique<ForwardPass>(
          options.build_for_rows(options.sample_rows), placement_.lanes[0], layout_,
          devices_->replica(device), devices_->libraries(device));
    });
  }
  if (placement_.rank == 0) share_choices();
  update_ = std::make_unique<UpdateStage>(config_, *devices_, layout_, who_);
  state_ = std::make_unique<StateTransfer>(*devices_, *gradients_, *update_, layout_, who_);
}

void TowerTrainer::plan_memory() {
  for (int d = devices_->local().begin; d < devices_->local().end; ++d) {
    MemoryUse use = devices_->replica(d).memory();
    use += gradients_->memory(d);
    use += update_->memory(d);
    use[MemoryKind::checkpoint] += state_->bytes(d);
    if (sampler_ && d == placement_.lane_device[0]) use += sampler_->memory();
    devices_->pool(d).plan(use);
  }
}

void TowerTrainer::allocate_memory() {
  if (std::string shortage = memory_shortage(); !shortage.empty())
    throw Error(Category::out_of_memory, shortage);
  for (int d = devices_->local().begin; d < devices_->local().end; ++d)
    devices_->replica(d).allocate(devices_->pool(d));
  update_->allocate();
  state_->allocate();
  gradients_->allocate();
  if (sampler_) team().lead([&] { sampler_->allocate(devices_->pool(placement_.lane_device[0])); });
}

// Initial weights are drawn on the host, by parameter name, and copied to all replicas.
void TowerTrainer::initialize() {
  const DeviceMemory& weights = *devices_->replica(devices_->host_device()).weights;
  Buffer copy(weights.on_host() ? 0 : weights.bytes());
  float* values = weights.on_host() ? weights.as<float>() : copy.as<float>();
  context_.seed = config_.seed;
  team().lead([&] {
    team().parallel(
        [&](int lane) { layout_.initialize(config_.seed, values, lane, devices_->lanes()); });
    update_->write_weights(values);
    update_->begin_average();
    renew_replicas();
  });
}

// Pools that share a memory may fit one by one and not together.
std::string TowerTrainer::memory_shortage(double free_share) const {
  auto shortage = foresee_shortage(devices_->pools(), free_share);
  return shortage ? devices_->pools().front()->explain(*shortage) : "";
}

std::vector<MemoryByKind> TowerTrainer::by_kind(MemoryUse (MemoryPool::*use)() const) const {
  bool communicates = std::ranges::any_of(devices_->pools(), [](const auto& pool) {
    return pool->planned()[MemoryKind::communication] > 0;
  });
  std::vector<MemoryByKind> memory;
  for (const auto& pool : devices_->pools()) {
    MemoryByKind& kinds = memory.emplace_back();
    MemoryUse bytes = (*pool.*use)();
    for (MemoryKind kind : all_memory_kinds) {
      if (kind == MemoryKind::communication && !communicates) continue;
      if (kind == MemoryKind::checkpoint && devices_->on_gpus()) continue;  // in the host's memory
      kinds.emplace_back(to_string(kind), static_cast<int64_t>(bytes[kind]));
    }
  }
  return memory;
}

std::vector<std::optional<size_t>> TowerTrainer::memory_limits() const {
  std::vector<std::optional<size_t>> limits;
  for (const auto& pool : devices_->pools()) limits.push_back(pool->options().limit);
  return limits;
}

std::vector<TowerTrainer::Room> TowerTrainer::memory_room() const {
  std::vector<Room> rooms;
  for (const auto& pool : devices_->pools()) {
    size_t planned = 0;
    for (const auto& other : devices_->pools())
      if (same_memory(pool->device(), other->device())) planned += other->planned().total();
    Room room{space_of(pool->device()).free};
    auto limit = pool->options().limit;
    room.fits =
        (!room.free || planned <= *room.free) && (!limit || pool->planned().total() <= *limit);
    rooms.push_back(room);
  }
  return rooms;
}

}  // namespace spire
