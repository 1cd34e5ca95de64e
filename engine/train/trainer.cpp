#include <spire/train/trainer.h>

#include <algorithm>
#include <cstring>

#include <spire/graph/autodiff.h>
#include <spire/graph/passes.h>

namespace spire {
namespace {

// Sample counts of the towers of a dataset's last batch, other than 0 and batch_size.
std::vector<int64_t> ragged_samples(int64_t samples, const Placement& placement) {
  int64_t rest = samples % placement.global_batch() % placement.batch_size;
  return rest == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{rest};
}

ParameterLayout make_layout(const GraphBuilder& build, int64_t batch_size) {
  Graph graph = build(batch_size, true);
  fuse_activations(graph);
  auto gradients = differentiate(graph);
  return ParameterLayout(graph, gradients);
}

}  // namespace

Trainer::Trainer(const TrainerOptions& options, const Placement& placement)
    : placement_(placement) {
  GraphBuilder build = [&](int64_t batch, bool training) {
    return build_model(options.model, options.loss,
                       {.image = options.image, .batch = batch, .dtype = options.precision},
                       training);
  };
  layout_ = make_layout(build, placement.batch_size);
  for (size_t d = 0; d < placement_.devices.size(); ++d) {
    replicas_.push_back(std::make_unique<Replica>(layout_));
  }
  team_ = std::make_unique<LaneTeam>(placement_.lanes);
  sums_.loss.resize(static_cast<size_t>(placement_.towers));
  sums_.correct.resize(sums_.loss.size());
  step_body_ = [this](int lane) { run_step(lane); };
  evaluate_body_ = [this](int lane) {
    lanes_[static_cast<size_t>(lane)]->evaluate(*batch_, sums_);
  };
  make_lanes(options, build);
  layout_.initialize(options.seed, master().values());
  context_.seed = options.seed;
  team_->lead([this] { renew_replicas(); });
}

// Each lane compiles on its own thread, one after another: kernels are prepared where they will
// run, with that thread's OpenMP team, and replicas' tables of forms are shared.
void Trainer::make_lanes(const TrainerOptions& options, const GraphBuilder& build) {
  lanes_.resize(placement_.lanes.size());
  LaneOptions lane_options;
  lane_options.towers = placement_.towers;
  lane_options.batch_size = placement_.batch_size;
  lane_options.ragged_train = ragged_samples(options.train_samples, placement_);
  lane_options.ragged_eval = ragged_samples(options.test_samples, placement_);
  team_->lead([&] {
    for (size_t l = 0; l < lanes_.size(); ++l) {
      team_->parallel([&](int lane) {
        if (static_cast<size_t>(lane) != l) return;
        LaneOptions mine = lane_options;
        mine.range = placement_.lane_towers[l];
        mine.spec = placement_.lanes[l];
        auto device = static_cast<size_t>(placement_.lane_device[l]);
        lanes_[l] = std::make_unique<TowerLane>(mine, build, layout_, *replicas_[device]);
      });
    }
  });
  for (auto& replica : replicas_) replica->forms.allocate();
  std::vector<TreeSum::Leaf> leaves;
  for (auto& lane : lanes_) {
    auto nodes = lane->leaves();
    leaves.insert(leaves.end(), nodes.begin(), nodes.end());
  }
  const PlacedDevice& device = placement_.devices[static_cast<size_t>(placement_.parameter_device)];
  update_ = std::make_unique<ParameterUpdate>(options.optimizer, layout_, master(),
                                              TreeSum(placement_.towers, leaves),
                                              lanes_.front()->first_gradients(), device.lanes);
}

StepResult Trainer::step(const Batch& batch, int64_t done, double lr) {
  batch_ = &batch;
  context_.step = done;
  context_.gradient_scale = 1.0f / static_cast<float>(batch.valid);
  update_step_ = {.lr = static_cast<float>(lr), .step = done + 1, .gradient_factor = 1.0f};
  team_->parallel(step_body_);
  auto samples = static_cast<double>(batch.valid);
  return {tree_sum(sums_.loss) / samples, tree_sum(sums_.correct) / samples,
          update_->gradient_norm()};
}

// The step of one lane; the barriers are its joints with the others.
void Trainer::run_step(int lane) {
  // 1. Its towers: forward, backward, gradients summed into nodes of the tree.
  lanes_[static_cast<size_t>(lane)]->train(*batch_, context_, sums_);
  team_->barrier();
  // 2. The parameter device sums the tree and updates the master weights, a slice a lane.
  const auto& device = placement_.devices[static_cast<size_t>(placement_.parameter_device)];
  int part = lane - device.first_lane;
  bool updates = part >= 0 && part < device.lanes;
  if (updates) update_->reduce(part, update_step_);
  if (update_->two_phases()) {
    team_->barrier();
    if (updates) update_->finish(part, update_step_);
  }
  team_->barrier();
  // 3. The new weights reach every device, and take the forms its kernels read.
  replicate(lane);
}

void Trainer::replicate(int lane) {
  auto index = static_cast<size_t>(placement_.lane_device[static_cast<size_t>(lane)]);
  const PlacedDevice& device = placement_.devices[index];
  int part = lane - device.first_lane;
  Replica& replica = *replicas_[index];
  if (&replica != &master()) {
    int64_t total = layout_.total_floats();
    int64_t begin = total * part / device.lanes, end = total * (part + 1) / device.lanes;
    std::memcpy(replica.values() + begin, master().values() + begin,
                static_cast<size_t>(end - begin) * sizeof(float));
  }
  if (replicas_.size() > 1) team_->barrier();
  replica.forms.pack_for_step(replica.values(), part, device.lanes);
}

void Trainer::renew_replicas() {
  team_->parallel([this](int lane) { replicate(lane); });
}

void Trainer::begin_evaluation() {
  team_->parallel([this](int lane) {
    auto index = static_cast<size_t>(placement_.lane_device[static_cast<size_t>(lane)]);
    const PlacedDevice& device = placement_.devices[index];
    replicas_[index]->forms.pack_for_evaluation(replicas_[index]->values(),
                                                lane - device.first_lane, device.lanes);
  });
}

void Trainer::evaluate(const Batch& batch, EvaluationSums& sums) {
  batch_ = &batch;
  team_->parallel(evaluate_body_);
  sums.loss += tree_sum(sums_.loss);
  sums.correct += tree_sum(sums_.correct);
  sums.samples += batch.valid;
}

void Trainer::set_weights(
    const std::function<void(const ParameterEntry&, std::span<float>)>& fill) {
  for (const auto& entry : layout_.entries()) {
    fill(entry, {master().values() + entry.offset, static_cast<size_t>(entry.elements())});
  }
  renew_replicas();
}

std::vector<MemoryByKind> Trainer::planned_memory() const {
  std::vector<MemoryByKind> memory;
  for (size_t d = 0; d < replicas_.size(); ++d) {
    const PlacedDevice& device = placement_.devices[d];
    size_t gradients = 0, activations = 0, workspace = 0, optimizer = 0;
    for (int l = device.first_lane; l < device.first_lane + device.lanes; ++l) {
      const TowerLane& lane = *lanes_[static_cast<size_t>(l)];
      gradients += lane.gradient_bytes();
      activations += lane.activation_bytes();
      workspace += lane.workspace_bytes();
    }
    if (static_cast<int>(d) == placement_.parameter_device) {
      for (const Buffer& slot : update_->slots()) optimizer += slot.bytes();
    }
    size_t weights = replicas_[d]->weights.bytes() + replicas_[d]->forms.bytes();
    memory.push_back({{"weights", weights},
                      {"gradients", gradients},
                      {"optimizer", optimizer},
                      {"activations", activations},
                      {"workspace", workspace}});
  }
  return memory;
}

}  // namespace spire
