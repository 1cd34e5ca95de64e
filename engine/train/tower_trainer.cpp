// The step, in time order. tower_trainer_build.cpp makes the parts that it works with.
#include "engine/train/tower_trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/device/lane_team.h"
#include "engine/train/replica.h"
#include "engine/update/update_launches.h"

namespace spire {

// Runs body(lane) on all lanes. A lane that fails releases the others and says where it was.
// LaneTeam::parallel() takes a std::function; one pointer and a reference fit in it without an
// allocation.
template <typename Body>
void TowerTrainer::on_lanes(const Body& body) {
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
void TowerTrainer::on_lanes_until_done(const Body& body) {
  on_lanes([&](int lane) {
    body(lane);
    devices_->stream(lane).record(*metrics_[0].step_done[static_cast<size_t>(lane)]);
    await_step(lane, metrics_[0]);
  });
}

// Other members may still read this one's memory: wait for the streams before it is freed.
TowerTrainer::~TowerTrainer() {
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

StepOutcome TowerTrainer::step(const Batch& batch, int64_t done, double lr, bool stop) {
  begin_step(batch, done, lr, stop);
  return finish_step();
}

// Where the host takes part in a step, it cannot be ahead of it.
int TowerTrainer::max_ahead() const {
  static_assert(std::tuple_size_v<decltype(metrics_)> == max_unreported_skips + 1);
  bool host_waits = !devices_->on_gpus() || placement_.updates_on_host || judge_;
  return host_waits ? 0 : static_cast<int>(metrics_.size()) - 1;
}

StepJob TowerTrainer::make_job(const Batch& batch, StepMetrics& metrics, int64_t done) const {
  metrics.step = done + 1;
  metrics.samples = batch.valid;
  metrics.judged = metrics.rejected = false;
  metrics.waited = metrics.judging = 0;
  StepJob job{batch, metrics, context_, {}};
  job.context.step = done;
  job.context.gradient_scale = static_cast<float>(1.0 / static_cast<double>(batch.valid));
  return job;
}

void TowerTrainer::begin_step(const Batch& batch, int64_t done, double lr, bool stop,
                              double waited) {
  require(!averaged_ && open_.batches == 0, "a step before the end of another or an evaluation");
  require(under_way() <= max_ahead(), "{} steps are under way", under_way());
  StepMetrics& metrics = metrics_of(begun_);  // the step before may still use the other one
  StepJob job = make_job(batch, metrics, done);
  metrics.lr = lr;
  metrics.waited = waited;
  metrics.stops[static_cast<size_t>(placement_.rank)] = stop;
  job.update = update_of(metrics);
  devices_->status().begin_step(done + 1);
  record_step(done + 1);
  gradients_->begin_step(batch);
  if (judge_) {
    on_lanes([&](int lane) { run_towers(lane, job); });
    complete_towers(metrics);
    judge_step(metrics);
    on_lanes([&](int lane) { run_update(lane, metrics, job.update); });
  } else {
    on_lanes([&](int lane) { run_step(lane, job); });
  }
  ++begun_;
}

// One lane's part of a step. Lanes meet where one needs what another has written; on GPUs that
// orders their streams, and no host thread waits for a device (unless the CPU updates GPUs'
// weights, or a judge sees the step before its update).
void TowerTrainer::run_step(int lane, const StepJob& job) {
  run_towers(lane, job);
  run_update(lane, job.metrics, job.update);
}

// Forward and backward of the lane's towers. Their gradients are summed here, or in the update
// (GradientStage::sums_first).
void TowerTrainer::run_towers(int lane, const StepJob& given, const char* name) {
  StepJob job = given;
  job.context.loss_scale = update_->device_loss_scale(lane);
  job.metrics.clocks[static_cast<size_t>(lane)].begin(job.metrics.step, name);
  gradients_->train(lane, job);
}

void TowerTrainer::run_update(int lane, StepMetrics& metrics, const ParameterUpdate::Step& update) {
  auto l = static_cast<size_t>(lane);
  LaneClock& clock = metrics.clocks[l];
  bool rejected = rejects(lane, metrics);
  if (rejected && lane == 0 && !metrics.judged) metrics.rejected = true;
  // 1. The weights are updated where the strategy says; a CpuPass may also copy and pack them.
  clock.enter(&StepTimes::update);
  if (!rejected) update_->update(lane, update);
  update_->adjust_loss_scale(lane);
  devices_->status().enter(lane, Phase::waiting);
  devices_->meet(lane);
  // 2. On return every replica has the new weights, packed as its kernels read them.
  clock.enter(&StepTimes::replicate);
  if (!rejected) update_->publish(lane);
  clock.end();
  // 3. The host gets the gradient's squares.
  copy_squares(lane, metrics);
  devices_->stream(lane).record(*metrics.step_done[l]);
  devices_->status().enter(lane, Phase::idle);
}

void TowerTrainer::set_optimizer(const OptimizerConfig& optimizer) {
  check_factors(optimizer, layout_);
  config_.optimizer = optimizer;
  update_->take_optimizer();
}

void TowerTrainer::set_judge(StepJudge judge) {
  require(gradients_->sums_first(), "a judge of steps whose sums are made by the update");
  judge_ = std::move(judge);
}

// Whether the step changes no weight: the same on all lanes and ranks. On a CPU that has all sums
// by now, a gradient that is not finite does not reach the weights, so that the search for its
// cause finds them as they were. (With fp16 the devices themselves skip such a step.)
bool TowerTrainer::rejects(int lane, const StepMetrics& metrics) {
  if (metrics.judged) return metrics.rejected;
  if (devices_->on_gpus() || !gradients_->sums_first()) return false;
  std::span<double> squares = gradients_->squares(devices_->member_of_lane(lane));
  return !std::isfinite(std::accumulate(squares.begin(), squares.end(), 0.0));
}

// Does nothing where the host can read them where they are.
void TowerTrainer::copy_squares(int lane, StepMetrics& metrics) {
  std::span<double> squares = gradients_->squares(devices_->member_of_lane(lane));
  if (lane == 0 && metrics.squares.data() != squares.data())
    devices_->stream(lane).copy(metrics.squares.data(), squares.data(), squares.size_bytes());
}

ParameterUpdate::Step TowerTrainer::update_of(const StepMetrics& metrics) const {
  return {.lr = static_cast<float>(metrics.lr),
          .number = metrics.step - rejected_steps_,
          .skipped = loss_scale().skipped};
}

// Waits until the host of each rank has the step's numbers and the squares of its gradients.
void TowerTrainer::complete_towers(StepMetrics& metrics) {
  on_lanes([&](int lane) {
    copy_squares(lane, metrics);
    devices_->stream(lane).record(*metrics.step_done[static_cast<size_t>(lane)]);
    await_step(lane, metrics);
  });
  note_devices(metrics);
  share_metrics(metrics);
}

// Between towers and update.
void TowerTrainer::judge_step(StepMetrics& metrics) {
  auto begin = std::chrono::steady_clock::now();
  StepOutcome result = result_of(metrics);
  metrics.judged = true;
  metrics.rejected = !judge_(result);
  metrics.judging +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void TowerTrainer::inspect(const Batch& batch, int64_t done, TensorObserver& observer) {
  require(under_way() == 0, "an inspection while a step is under way");
  StepJob job = make_job(batch, metrics_[0], done);
  record_step(job.metrics.step);
  gradients_->observe(&observer);
  gradients_->begin_step(batch);
  on_lanes_until_done([&](int lane) {
    run_towers(lane, job, "inspected step");
    job.metrics.clocks[static_cast<size_t>(lane)].end();
  });
  gradients_->observe(nullptr);
  take_trace(job.metrics.step);
}

// tree_sum() adds the towers' losses, fp64, in the order of the fixed tree.
StepOutcome TowerTrainer::result_of(StepMetrics& metrics) const {
  const LossScale& loss_scale = update_->loss_scale();
  auto samples = static_cast<double>(metrics.samples);
  double scale = loss_scale.value(), norm = metrics.gradient_norm() / scale;
  return {.step = metrics.step,
          .samples = metrics.samples,
          .lr = metrics.lr,
          .loss = tree_sum(metrics.sums.loss) / samples,
          .score = tree_sum(metrics.sums.score) / samples,
          .grad_norm = norm,
          .loss_scale = loss_scale.on() ? scale : 0.0,
          // The device skips the update by the same rule (GradientScale::factor).
          .skipped = loss_scale.on() && !std::isfinite(norm),
          .stop = metrics.any_stop(),
          .rejected = metrics.rejected,
          .devices = metrics.devices,
          .tower_losses = metrics.sums.loss};
}

StepOutcome TowerTrainer::finish_step() {
  require(under_way() > 0, "no step is under way");
  StepMetrics& metrics = metrics_of(finished_);
  devices_->status().begin_step(metrics.step);  // where it hangs, it is in this step
  if (devices_->on_gpus())
    on_lanes([&](int lane) {
      await_step(lane, metrics);
      await_next(lane);
    });
  ++finished_;
  if (under_way() > 0) metrics_of(finished_).cut_wait(metrics);
  if (!metrics.judged) {
    note_devices(metrics);
    share_metrics(metrics);
  }
  StepOutcome result = result_of(metrics);
  result.times = metrics.times();
  take_trace(metrics.step);
  update_->loss_scale().record(result.skipped);
  result.skipped_steps = loss_scale().skipped;
  if (under_way() > 0) devices_->status().begin_step(metrics_of(finished_).step);
  return result;
}

// A GPU that fails or hangs at its work does so here.
void TowerTrainer::await_step(int lane, const StepMetrics& metrics) {
  if (devices_->stream(lane).device().kind == DeviceKind::cpu) return;
  devices_->status().enter(lane, Phase::device);
  devices_->await(lane, *metrics.towers_done[static_cast<size_t>(lane)]);
  if (!placement_.all_are_peers()) {
    gradients_->await_exchange(lane, under_way() > 1);
    devices_->status().enter(lane, Phase::waiting);
  }
  devices_->await(lane, *metrics.step_done[static_cast<size_t>(lane)]);
  devices_->status().enter(lane, Phase::idle);
}

// The step behind this one, if it has begun, begins at once: nothing is between the two.
void TowerTrainer::await_next(int lane) {
  if (under_way() < 2) return;
  devices_->await(lane, metrics_of(finished_ + 1).clocks[static_cast<size_t>(lane)].begun());
}

// What this rank's devices did, and how they were when they were last read.
void TowerTrainer::note_devices(StepMetrics& metrics) {
  Share own = devices_->local();
  auto first = static_cast<size_t>(own.begin), end = static_cast<size_t>(own.end);
  std::span<double> numbers =
      metrics.devices.subspan(first * device_numbers, (end - first) * device_numbers);
  if (monitor_) monitor_->copy_to(numbers);
  for (size_t d = first; d < end; ++d) {
    std::span<double> mine = numbers.subspan((d - first) * device_numbers);
    const PlacedDevice& device = devices_->device(static_cast<int>(d));
    number_of(DeviceNumber::arrival_ms, mine) = metrics.arrival_ms(device);
    number_of(DeviceNumber::data_ms, mine) = 1e3 * metrics.waited;
    number_of(DeviceNumber::lane_wait_ms, mine) = metrics.lane_wait_ms(device);
  }
}

// Every process gets all losses, scores, stop requests and numbers of devices.
void TowerTrainer::share_metrics(StepMetrics& metrics) {
  if (devices_->ranks() == 1) return;
  devices_->status().wait(0, [&] { all_gather_->share(metrics.shared); });
}

// Called inside a catch block. Another lane's failure shows as BarrierBroken here, or as PeerLost
// once the communicators are aborted; only the first failure is reported.
void TowerTrainer::fail_lane(int lane) {
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
  } catch (...) {  // of the program's code, and no std::exception
    abort_peers();
    throw;
  }
}

// Ends the waiting of this rank's lanes for others, and of other ranks' for them. False: another
// lane did this before.
bool TowerTrainer::abort_peers() {
  bool first = !peers_aborted_.exchange(true);
  gradients_->interrupt();
  devices_->abort_communicators();
  return first;
}

void TowerTrainer::begin_evaluation() {
  if (update_->averages()) swap_average();
  on_lanes_until_done([this](int lane) { update_->pack_for_evaluation(lane); });
}

void TowerTrainer::end_evaluation() {
  if (averaged_) swap_average();
}

void TowerTrainer::evaluate(const Batch& batch, EvaluationSums& sums, bool stop,
                            OutputObserver* outputs) {
  require(under_way() == 0 && open_.batches == 0, "an evaluation while a step is under way");
  StepMetrics& metrics = metrics_[0];
  metrics.stops[static_cast<size_t>(placement_.rank)] = stop;
  StepJob job{.batch = batch, .metrics = metrics, .outputs = outputs};
  on_lanes_until_done([&](int lane) { gradients_->evaluate(lane, job); });
  share_metrics(metrics);
  sums.loss += tree_sum(metrics.sums.loss);
  sums.score += tree_sum(metrics.sums.score);
  sums.samples += batch.valid;
  sums.stop = metrics.any_stop();
}

void TowerTrainer::swap_average() {
  on_lanes_until_done([this](int lane) { update_->swap_average(lane); });
  averaged_ = !averaged_;
}

std::optional<uint64_t> TowerTrainer::average_hash() {
  if (!update_->averages()) return {};
  swap_average();
  uint64_t hash = parameter_hash();
  swap_average();
  return hash;
}

void TowerTrainer::renew_replicas() {
  on_lanes_until_done([this](int lane) {
    update_->replicate(lane);
    update_->pack_frozen(lane);
  });
}

void TowerTrainer::set_weights(
    const std::function<void(const ParameterEntry&, std::span<float>)>& fill) {
  state_->set_weights(fill);
  update_->begin_average();
  renew_replicas();
}

void TowerTrainer::read_weight(const ParameterEntry& entry, std::span<float> values) const {
  const DeviceMemory& weights = *devices_->replica(devices_->host_device()).weights;
  weights.read(values.data(), values.size_bytes(),
               static_cast<size_t>(entry.offset) * sizeof(float));
}

void TowerTrainer::read_evaluation_weights(std::span<float> flat) {
  if (update_->averages()) swap_average();
  std::copy_n(devices_->read_weights(), flat.size(), flat.begin());
  end_evaluation();
}

void TowerTrainer::write_weight(const ParameterEntry& entry, std::span<const float> values) {
  require(!averaged_ && under_way() == 0, "a weight written before the end of a step");
  state_->write_weight({entry.offset, entry.offset + entry.elements()}, values);
  renew_replicas();
}

void TowerTrainer::describe(StateMetadata& state) const {
  state.towers = placement_.towers;
  state.batch_size = placement_.batch_size;
  state.tower_threads = placement_.tower_threads;
  state.loss_scale = loss_scale().scale;
  state.loss_scale_steps = loss_scale().good_steps;
  state.skipped_steps = loss_scale().skipped;
  state.skipped_in_row = loss_scale().skipped_in_row;
  state.parameter_hash = hex(parameter_hash());
}

void TowerTrainer::capture_state() {
  require(!averaged_ && under_way() == 0, "the state before the end of a step or evaluation");
  state_->capture();
}

void TowerTrainer::restore(const StateMetadata& state, const SavedTensors* tensors) {
  state_->restore(placement_.rank == 0 ? tensors : nullptr);
  update_->restore_loss_scale(
      {state.loss_scale, state.loss_scale_steps, state.skipped_steps, state.skipped_in_row});
  renew_replicas();
}

void TowerTrainer::check_replicas() {
  spire::check_replicas(*devices_, layout_);
}

}  // namespace spire
