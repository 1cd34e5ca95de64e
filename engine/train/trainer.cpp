// The step, in time order. trainer_build.cpp makes the parts that it works with.
#include "engine/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "engine/base/hash.h"
#include "engine/device/lane_team.h"
#include "engine/train/replica.h"

namespace spire::inline training {

// Runs body(lane) on all lanes. A lane that fails releases the others and says where it was.
// LaneTeam::parallel() takes a std::function; one pointer and a reference fit in it without an
// allocation.
template <typename Body>
void Trainer::on_lanes(const Body& body) {
  team().parallel([this, &body](int lane) {
    try {
      body(lane);
    } catch (...) {
      fail_lane(lane);
    }
  });
}

// The same, and waits for the work that the body gave the devices.
template <typename Body>
void Trainer::on_lanes_until_done(const Body& body) {
  on_lanes([&](int lane) {
    body(lane);
    devices_->stream(lane).record(*metrics_[0].step_done[static_cast<size_t>(lane)]);
    await_step(lane, metrics_[0]);
  });
}

// Other ranks may still read this one's memory: wait for the streams before it is freed.
Trainer::~Trainer() {
  if (!devices_ || devices_->member_count() == 1 || metrics_[0].step_done.empty()) return;
  try {
    for (int lane = 0; lane < devices_->lanes(); ++lane) {
      Event& end = *metrics_[0].step_done[static_cast<size_t>(lane)];
      devices_->stream(lane).record(end);
      devices_->await(lane, end);
    }
  } catch (const Error&) {
    abort_peers();
  }
}

StepResult Trainer::step(const Batch& batch, int64_t done, double lr, bool stop) {
  begin_step(batch, done, lr, stop);
  return finish_step();
}

// Where the host takes part in a step, it cannot be ahead of it.
int Trainer::max_ahead() const {
  static_assert(std::tuple_size_v<decltype(metrics_)> == ParameterUpdate::max_unseen + 1);
  bool host_waits = !devices_->on_gpus() || placement_.updates_on_host;
  return host_waits ? 0 : static_cast<int>(metrics_.size()) - 1;
}

void Trainer::begin_step(const Batch& batch, int64_t done, double lr, bool stop) {
  require(!averaged_, "a step before the end of an evaluation");
  require(under_way() <= max_ahead(), "{} steps are under way", under_way());
  StepMetrics& metrics = metrics_of(begun_);  // the step before may still use the other one
  metrics.step = done + 1;
  metrics.samples = batch.valid;
  metrics.lr = lr;
  metrics.stops[static_cast<size_t>(placement_.rank)] = stop;
  StepJob job{batch, metrics, context_, {}};
  job.context.step = done;
  job.context.gradient_scale = static_cast<float>(1.0 / static_cast<double>(batch.valid));
  job.update = {.lr = static_cast<float>(lr), .number = done + 1, .skipped = loss_scale().skipped};
  devices_->status().begin_step(done + 1);
  gradients_->begin_step();
  on_lanes([&](int lane) { run_step(lane, job); });
  ++begun_;
}

// One lane's part of a step. Lanes meet where one needs what another has written; on GPUs that
// orders their streams, and no host thread waits for a device (unless the CPU updates GPUs'
// weights).
void Trainer::run_step(int lane, const StepJob& given) {
  auto l = static_cast<size_t>(lane);
  Stream& stream = devices_->stream(lane);
  StepJob job = given;
  job.context.loss_scale = update_->device_loss_scale(lane);
  LaneClock& clock = job.metrics.clocks[l];
  clock.begin();
  // 1. Forward and backward of the lane's towers. Buckets of gradients are summed over all towers
  //    while backward goes on, or in the update (UpdatePass::sums_in_update).
  gradients_->train(lane, job);
  // 2. The weights are updated where the strategy says; an UpdatePass also copies and packs them.
  clock.enter(&StepTimes::update);
  update_->update(lane, job.update);
  update_->follow_loss_scale(lane);
  devices_->status().enter(lane, Phase::waiting);
  devices_->meet(lane);
  // 3. On return every replica has the new weights, packed as its kernels read them.
  clock.enter(&StepTimes::replicate);
  update_->publish(lane);
  clock.end();
  // 4. The host gets the gradient's squares, if it cannot read them where they are.
  std::span<double> squares = gradients_->squares(devices_->member_of_lane(lane));
  if (lane == 0 && job.metrics.squares.data() != squares.data())
    stream.copy(job.metrics.squares.data(), squares.data(), squares.size_bytes());
  stream.record(*job.metrics.step_done[l]);
  devices_->status().enter(lane, Phase::idle);
}

// tree_sum() adds the towers' losses, fp64, in the order of the fixed tree.
StepResult Trainer::finish_step() {
  require(under_way() > 0, "no step is under way");
  StepMetrics& metrics = metrics_of(finished_);
  if (devices_->on_gpus()) on_lanes([&](int lane) { await_step(lane, metrics); });
  ++finished_;
  share_metrics(metrics);
  LossScale& loss_scale = update_->loss_scale();
  auto samples = static_cast<double>(metrics.samples);
  double scale = loss_scale.value(), norm = metrics.gradient_norm() / scale;
  // The device has skipped the update by the same rule (GradientScale::factor).
  bool skipped = loss_scale.on() && !std::isfinite(norm);
  loss_scale.record(skipped);
  return {.step = metrics.step,
          .samples = metrics.samples,
          .lr = metrics.lr,
          .loss = tree_sum(metrics.sums.loss) / samples,
          .score = tree_sum(metrics.sums.score) / samples,
          .grad_norm = norm,
          .times = metrics.times(),
          .loss_scale = loss_scale.on() ? scale : 0.0,
          .skipped = skipped,
          .skipped_steps = loss_scale.state().skipped,
          .stop = metrics.any_stop()};
}

// A GPU that fails or hangs at its work does so here.
void Trainer::await_step(int lane, const StepMetrics& metrics) {
  if (devices_->stream(lane).device().kind == DeviceKind::cpu) return;
  devices_->status().enter(lane, Phase::device);
  devices_->await(lane, *metrics.towers_done[static_cast<size_t>(lane)]);
  if (devices_->member_count() > 1) devices_->status().enter(lane, Phase::waiting);
  devices_->await(lane, *metrics.step_done[static_cast<size_t>(lane)]);
  devices_->status().enter(lane, Phase::idle);
}

// Every process gets all losses, scores and stop requests.
void Trainer::share_metrics(StepMetrics& metrics) {
  if (devices_->ranks() == 1) return;
  devices_->status().wait(0, [&] { all_gather_->share(metrics.shared); });
}

// Called inside a catch block. Another lane's failure shows as BarrierBroken here, or as PeerLost
// once the communicators are aborted; only the first failure is reported.
void Trainer::fail_lane(int lane) {
  try {
    throw;
  } catch (const BarrierBroken&) {
    throw;
  } catch (const PeerLost&) {
    if (!abort_peers()) throw BarrierBroken{};
    throw;
  } catch (const LaneError&) {  // from the exchange thread, with its phase
    abort_peers();
    throw;
  } catch (const std::exception& error) {
    abort_peers();
    throw LaneError(devices_->status().read(lane), error);
  }
}

// Ends the waiting of this rank's lanes for others, and of other ranks' for them. False: another
// lane did this before.
bool Trainer::abort_peers() {
  bool first = !peers_aborted_.exchange(true);
  gradients_->interrupt();
  devices_->abort_communicators();
  return first;
}

void Trainer::begin_evaluation() {
  if (update_->averages()) swap_average();
  on_lanes_until_done([this](int lane) { update_->pack_for_evaluation(lane); });
}

void Trainer::end_evaluation() {
  if (averaged_) swap_average();
}

void Trainer::evaluate(const Batch& batch, EvaluationSums& sums, bool stop) {
  require(under_way() == 0, "an evaluation while a step is under way");
  StepMetrics& metrics = metrics_[0];
  metrics.stops[static_cast<size_t>(placement_.rank)] = stop;
  StepJob job{batch, metrics};
  on_lanes_until_done([&](int lane) { gradients_->evaluate(lane, job); });
  share_metrics(metrics);
  sums.loss += tree_sum(metrics.sums.loss);
  sums.score += tree_sum(metrics.sums.score);
  sums.samples += batch.valid;
  sums.stop = metrics.any_stop();
}

void Trainer::swap_average() {
  on_lanes_until_done([this](int lane) { update_->swap_average(lane); });
  averaged_ = !averaged_;
}

std::optional<uint64_t> Trainer::average_hash() {
  if (!update_->averages()) return {};
  swap_average();
  uint64_t hash = parameter_hash();
  swap_average();
  return hash;
}

void Trainer::renew_replicas() {
  on_lanes_until_done([this](int lane) { update_->replicate(lane); });
}

// The host's copy is edited, then written back to all replicas.
void Trainer::set_weights(
    const std::function<void(const ParameterEntry&, std::span<float>)>& fill) {
  float* values = devices_->read_weights();
  for (const auto& entry : layout_.entries())
    fill(entry, {values + entry.offset, static_cast<size_t>(entry.elements())});
  update_->write_weights(values);
  update_->begin_average();
  renew_replicas();
}

void Trainer::describe(StateMetadata& state) const {
  state.towers = placement_.towers;
  state.batch_size = placement_.batch_size;
  state.tower_threads = placement_.tower_threads;
  state.loss_scale = loss_scale().scale;
  state.loss_scale_steps = loss_scale().good_steps;
  state.skipped_steps = loss_scale().skipped;
  state.skipped_in_row = loss_scale().skipped_in_row;
  state.parameter_hash = hex(parameter_hash());
}

void Trainer::capture_state() {
  require(!averaged_ && under_way() == 0, "the state before the end of a step or evaluation");
  state_->capture();
}

void Trainer::restore(const StateMetadata& state, const SavedTensors* tensors) {
  state_->restore(placement_.rank == 0 ? tensors : nullptr);
  update_->restore_loss_scale(
      {state.loss_scale, state.loss_scale_steps, state.skipped_steps, state.skipped_in_row});
  renew_replicas();
}

void Trainer::check_replicas() {
  training::check_replicas(*devices_, layout_);
}

}  // namespace spire::inline training
