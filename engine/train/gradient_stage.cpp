#include "engine/train/gradient_stage.h"

namespace spire {

// Kernels are prepared where they will run, with that thread's OpenMP team; replicas' tables of
// packed weights are shared by the lanes of a device, so lanes compile one after another.
GradientStage::GradientStage(DeviceSet& devices, const ParameterLayout& layout,
                             const Ownership& who, const Options& options)
    : devices_(devices),
      layout_(layout),
      who_(who),
      members_(devices.members().size()),
      sums_first_(options.sums_first) {
  runners_.resize(static_cast<size_t>(devices_.lanes()));
  devices_.team().lead([&] {
    for (size_t l = 0; l < runners_.size(); ++l) {
      devices_.team().parallel([&](int lane) {
        if (static_cast<size_t>(lane) != l) return;
        devices_.status().enter(lane, Phase::setup);
        runners_[l] =
            std::make_unique<TowerRunner>(devices_, lane, options.lane, options.build, layout);
        devices_.status().enter(lane, Phase::idle);
      });
    }
    devices_.status().enter(0, Phase::setup);
  });
}

// Closing a communicator waits for members that still receive. No buffer is freed before all
// streams of the process are done, as other GPUs read it.
GradientStage::~GradientStage() {
  for (MemberSums& member : members_)
    if (member.exchange) member.exchange->stop();
  devices_.finish_streams();
  members_.clear();
  devices_.close_communicators();
}

size_t GradientStage::chunks() const {
  return static_cast<size_t>(TreeSum::chunks_of(layout_.trained_floats()));
}

// The sums' buffers lie on the front device of the member.
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
  use[MemoryKind::communication] +=
      BucketExchange::staging_bytes(who_, member.index) +
      GradientSums::bytes(who_, member.index, peers_buffers(member), devices_.device(device).id);
  return use;
}

// A lane's memory is first touched by its thread, so that it lies near its cores.
void GradientStage::allocate() {
  for (const LocalMember& member : devices_.members())
    sums_of(member).squares =
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
    make_sums(member);
    if (devices_.member_count() > 1) make_exchange(member);
    make_tower_sums(member);
  }
  for (int lane = 0; lane < devices_.lanes(); ++lane) {
    MemberSums& member = sums_of_lane(lane);
    contexts_.push_back({lane, &devices_.status(), member.exchange.get(), member.tower_sums.get()});
  }
}

// Returns the sums that the lanes of the member and its peers leave in their gradient buffers, in
// tower order.
std::vector<NodeBuffer> GradientStage::peers_buffers(const LocalMember& member) const {
  std::vector<NodeBuffer> buffers;
  PeerRange peers = who_.peers_of(member.index);
  for (size_t l = 0; l < runners_.size(); ++l) {
    if (!peers.has(devices_.member_of_lane(static_cast<int>(l)).index)) continue;
    auto nodes = runners_[l]->nodes();
    buffers.insert(buffers.end(), nodes.begin(), nodes.end());
  }
  return buffers;
}

void GradientStage::make_sums(const LocalMember& member) {
  std::vector<Stream*> streams;
  for (int lane = 0; lane < devices_.lanes(); ++lane)
    if (&devices_.member_of_lane(lane) == &member) streams.push_back(&devices_.stream(lane));
  sums_of(member).sums =
      std::make_unique<GradientSums>(who_, member.index, peers_buffers(member), streams,
                                     squares(member), devices_.pool(member.front));
}

void GradientStage::make_exchange(const LocalMember& member) {
  BucketExchange::Options exchange;
  exchange.cores = devices_.placement().helper_cores;
  exchange.first_lane = devices_.device(devices_.placed(member).devices.begin).first_lane;
  exchange.thread_row = devices_.lanes() + member.position;
  MemberSums& sums = sums_of(member);
  sums.exchange = std::make_unique<BucketExchange>(who_, exchange, *sums.sums, *member.communicator,
                                                   devices_.pool(member.front), devices_.status());
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
  sums_of(member).tower_sums = std::make_unique<CrossTowerSums>(sums);
}

void GradientStage::observe(TensorObserver* observer) {
  for (LaneContext& context : contexts_) context.observer = observer;
}

void GradientStage::show_spans(int lane, SpanSink* sink) {
  contexts_[static_cast<size_t>(lane)].spans = sink;
  if (auto& exchange = sums_of_lane(lane).exchange) exchange->show_spans(lane, sink);
}

// Sums over towers use the same connections while backward goes on, so buckets wait for its end.
void GradientStage::begin_step(const Batch& batch) {
  loads_kernels_ = loads_kernels(batch);
  bool overlap = runners_.front()->tower_sums().empty() && !loads_kernels_;
  for (MemberSums& member : members_)
    if (member.exchange) member.exchange->begin_step(overlap);
}

// Whether kernels may run for the first time, and so be loaded, in a process that has several
// members joined by NCCL. A load may wait for the device, under a lock of the process: also for an
// NCCL kernel that waits for the kernel of another member of this process, whose thread wants that
// lock. So in such a step no bucket is exchanged before all lanes have enqueued their towers, and
// no lane goes on before all buckets of the process are. (CUDA C++ Programming Guide, "Lazy
// Loading". Nothing else that a step does for the first time, such as the launch of a graph, is
// known to wait.)
bool GradientStage::loads_kernels(const Batch& batch) {
  if (!devices_.on_gpus() || devices_.placement().all_are_peers() || members_.size() == 1)
    return false;
  bool inspected = contexts_.front().observer;  // it does not update the weights
  return inspected || seen_batches_.insert(batch.valid).second;
}

void GradientStage::train(int lane, const StepJob& job) {
  auto l = static_cast<size_t>(lane);
  Stream& stream = devices_.stream(lane);
  // The runner notifies the exchange how far its gradients are final (LaneContext::exchange).
  LaneClock& clock = job.metrics.clocks[l];
  runners_[l]->train(job.batch, job.context, job.metrics.sums, clock, contexts_[l]);
  if (!alone()) clock.enter(&StepTimes::reduce);
  stream.record(*job.metrics.towers_done[l]);
  auto& exchange = sums_of_lane(lane).exchange;
  if (!exchange) return sum(lane, clock);
  auto meet_if_loading = [&] {
    if (!loads_kernels_) return;
    Span span(contexts_[l].spans, {SpanKind::wait, "wait for all lanes"});
    devices_.status().enter(lane, Phase::waiting);
    devices_.team().barrier();
  };
  meet_if_loading();
  exchange->finish(lane);
  meet_if_loading();
}

// Lanes of one member divide the sums among them once all towers are done, or leave them to the
// update.
void GradientStage::sum(int lane, LaneClock& clock) {
  SpanSink* spans = contexts_[static_cast<size_t>(lane)].spans;
  auto meet = [&](const char* why) {
    Span span(spans, {SpanKind::wait, why});
    devices_.status().enter(lane, Phase::waiting);
    devices_.meet(lane);
  };
  meet("wait for all towers");
  if (!sums_first_) return;
  if (!alone()) clock.enter(&StepTimes::update);
  {
    Span span(spans, {SpanKind::bucket, "add up gradients"});
    devices_.status().enter(lane, Phase::update);
    FloatRange share = share_of({0, who_.floats()}, lane, lane + 1, devices_.lanes());
    sums_of_lane(lane).sums->sum(lane, share);
  }
  if (!alone()) clock.enter(&StepTimes::reduce);
  meet("wait for all sums");
}

const float* GradientStage::sum_chunk(int lane, FloatRange chunk) {
  GradientSums& sums = *sums_of_lane(lane).sums;
  return sums_first_ ? sums.sums() + chunk.begin : sums.sum_chunk(lane, chunk);
}

void GradientStage::evaluate(int lane, const StepJob& job) {
  auto l = static_cast<size_t>(lane);
  runners_[l]->evaluate(job.batch, job.metrics.sums, contexts_[l], job.outputs);
  devices_.stream(lane).record(*job.metrics.towers_done[l]);
}

void GradientStage::await_exchange(int lane, bool step_before) {
  auto& exchange = sums_of_lane(lane).exchange;
  for (size_t b = 0; exchange && b < who_.buckets.size(); ++b) {
    devices_.status().enter(lane, Phase::waiting, static_cast<int64_t>(b) + 1);
    devices_.await(lane, exchange->exchanged(b, step_before));
  }
}

void GradientStage::interrupt() {
  for (MemberSums& member : members_)
    if (member.exchange) member.exchange->abort_waits();
}

float* GradientStage::sums(const LocalMember& member) const {
  return members_[static_cast<size_t>(member.position)].sums->sums();
}

std::span<double> GradientStage::squares(const LocalMember& member) const {
  return {members_[static_cast<size_t>(member.position)].squares->as<double>(), chunks()};
}

}  // namespace spire
