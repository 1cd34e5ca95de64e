#include "engine/train/gradient_stage.h"

namespace spire {

// Kernels are prepared where they will run, with that thread's OpenMP team; replicas' tables of
// packed weights are shared by the lanes of a device, so lanes compile one after another.
GradientStage::GradientStage(DeviceSet& devices, const ParameterLayout& layout,
                             const Options& options)
    : devices_(devices),
      layout_(layout),
      reducer_(options.reducer),
      members_(devices.members().size()),
      sum_in_update_(options.sum_in_update) {
  const Placement& placement = devices_.placement();
  runners_.resize(placement.lanes.size());
  devices_.team().lead([&] {
    for (size_t l = 0; l < runners_.size(); ++l) {
      devices_.team().parallel([&](int lane) {
        if (static_cast<size_t>(lane) != l) return;
        devices_.status().enter(lane, Phase::setup);
        int device = placement.lane_device[l];
        LaneOptions mine = options.lane;
        mine.range = placement.lane_towers[l];
        mine.spec = placement.lanes[l];
        mine.memory = &devices_.pool(device);
        mine.stream = &devices_.stream(lane);
        mine.cuda = devices_.libraries(device);
        runners_[l] =
            std::make_unique<TowerRunner>(mine, options.build, layout, devices_.replica(device));
        devices_.status().enter(lane, Phase::idle);
      });
    }
    devices_.status().enter(0, Phase::setup);
  });
}

// Closing a communicator waits for members that still receive, so gradient buffers are freed last.
GradientStage::~GradientStage() {
  members_.clear();
  devices_.close_communicators();
}

size_t GradientStage::chunks() const {
  return static_cast<size_t>(TreeSum::chunks_of(layout_.trained_floats()));
}

// The reduction's buffers lie on the front device of the member.
MemoryUse GradientStage::memory(int device) const {
  const PlacedDevice& placed = devices_.device(device);
  MemoryUse use;
  for (int l = placed.first_lane; l < placed.first_lane + placed.lanes; ++l)
    use += runners_[static_cast<size_t>(l)]->memory();
  if (!devices_.is_front(device)) return use;
  use[MemoryKind::workspace] +=
      chunks() * sizeof(double) +
      CrossTowerSums::bytes(runners_.front()->tower_sums(), devices_.placement().towers);
  if (devices_.member_count() == 1) return use;
  const LocalMember& member = devices_.member_of(device);
  use[MemoryKind::communication] += GradientReduction::exchange_bytes(
      reducer_, member.index, node_buffers(member), devices_.pool(device).device());
  return use;
}

// A lane's memory is first touched by its thread, so that it lies near its cores.
void GradientStage::allocate() {
  for (const LocalMember& member : devices_.members())
    members_[static_cast<size_t>(member.position)].squares =
        devices_.pool(member.front).allocate(MemoryKind::workspace, chunks() * sizeof(double));
  devices_.team().lead([&] {
    for (size_t l = 0; l < runners_.size(); ++l) {
      devices_.team().parallel([&](int lane) {
        if (static_cast<size_t>(lane) == l) runners_[l]->allocate();
      });
    }
  });
}

void GradientStage::connect() {
  for (const LocalMember& member : devices_.members()) {
    make_reduction(member);
    make_tower_sums(member);
  }
  for (int lane = 0; lane < devices_.lanes(); ++lane) {
    MemberReduction& member = reduction_of_lane(lane);
    contexts_.push_back(
        {lane, &devices_.status(), member.reduction.get(), member.tower_sums.get()});
  }
}

// Returns the sums that the member's lanes leave in their gradient buffers, in tower order.
std::vector<NodeBuffer> GradientStage::node_buffers(const LocalMember& member) const {
  std::vector<NodeBuffer> buffers;
  for (size_t l = 0; l < runners_.size(); ++l) {
    if (&devices_.member_of_lane(static_cast<int>(l)) != &member) continue;
    auto nodes = runners_[l]->nodes();
    buffers.insert(buffers.end(), nodes.begin(), nodes.end());
  }
  return buffers;
}

void GradientStage::make_reduction(const LocalMember& member) {
  GradientReduction::Options reduction;
  reduction.exchange = reducer_;
  reduction.memory = &devices_.pool(member.front);
  reduction.trained = layout_.trained_floats();
  reduction.chunk_squares = squares(member).data();
  reduction.first_lane = devices_.device(devices_.placed(member).devices.begin).first_lane;
  reduction.thread_row = devices_.lanes() + member.position;
  // A member's lanes are neighbours.
  for (int l = reduction.first_lane; l < devices_.lanes(); ++l) {
    if (&devices_.member_of_lane(l) == &member) reduction.streams.push_back(&devices_.stream(l));
  }
  reduction.exchange_cores = devices_.placement().helper_cores;
  // Sums over towers use the same connections while backward goes on, so buckets wait for its end.
  reduction.overlap = runners_.front()->tower_sums().empty();
  reduction.sum_in_update = sum_in_update_;
  members_[static_cast<size_t>(member.position)].reduction = std::make_unique<GradientReduction>(
      reduction, node_buffers(member), member.communicator.get(), devices_.status());
}

// For plans that sum over towers inside (batch_norm: sync); others have no counts.
void GradientStage::make_tower_sums(const LocalMember& member) {
  CrossTowerSums::Options sums{.counts = runners_.front()->tower_sums(),
                               .rank_towers = {},
                               .memory = &devices_.pool(member.front),
                               .joint = &devices_.barrier(),
                               .lane = member.lane,
                               .stream = &devices_.stream(member.lane),
                               .exchange = member.communicator.get()};
  if (sums.counts.empty()) return;
  for (const Member& each : devices_.placement().members) sums.rank_towers.push_back(each.towers);
  members_[static_cast<size_t>(member.position)].tower_sums =
      std::make_unique<CrossTowerSums>(sums);
}

void GradientStage::observe(TensorObserver* observer) {
  for (LaneContext& context : contexts_) context.observer = observer;
}

void GradientStage::show_spans(int lane, SpanSink* sink) {
  contexts_[static_cast<size_t>(lane)].spans = sink;
  reduction_of_lane(lane).reduction->show_spans(lane, sink);
}

void GradientStage::begin_step() {
  for (MemberReduction& member : members_) member.reduction->begin_step();
}

void GradientStage::train(int lane, const StepJob& job) {
  auto l = static_cast<size_t>(lane);
  Stream& stream = devices_.stream(lane);
  // The runner notifies the reduction how far its gradients are final (LaneContext::reduction); the
  // lane adds up its share of complete buckets on the way, the exchange thread sends them.
  LaneClock& clock = job.metrics.clocks[l];
  runners_[l]->train(job.batch, job.context, job.metrics.sums, clock, contexts_[l]);
  // A lane that is alone waits for none.
  bool alone = devices_.lanes() == 1 && devices_.member_count() == 1;
  if (!alone) clock.enter(&StepTimes::reduce);
  stream.record(*job.metrics.towers_done[l]);
  reduction_of_lane(lane).reduction->finish(lane);
}

void GradientStage::evaluate(int lane, const StepJob& job) {
  auto l = static_cast<size_t>(lane);
  runners_[l]->evaluate(job.batch, job.metrics.sums, contexts_[l], job.outputs);
  devices_.stream(lane).record(*job.metrics.towers_done[l]);
}

void GradientStage::interrupt() {
  for (MemberReduction& member : members_) {
    if (member.reduction) member.reduction->break_up();
  }
}

const float* GradientStage::sums(const LocalMember& member) const {
  return members_[static_cast<size_t>(member.position)].reduction->sums();
}

std::span<double> GradientStage::squares(const LocalMember& member) const {
  return {members_[static_cast<size_t>(member.position)].squares->as<double>(), chunks()};
}

}  // namespace spire
