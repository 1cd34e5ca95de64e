// A step in parts: between its backward pass and its update the host reads and changes gradients.
#include <algorithm>
#include <utility>

#include "engine/base/fail.h"
#include "engine/train/tower_trainer.h"

namespace spire {

StepOutcome TowerTrainer::compute_gradients(const Batch& batch, int64_t done,
                                            TensorObserver* observer) {
  require(judge_ && !averaged_ && under_way() == 0, "gradients before the end of a step");
  StepMetrics& metrics = metrics_of(begun_);
  if (open_.batches > 0) {
    std::span<const float> values = gradients();
    open_.gradients.assign(values.begin(), values.end());
    open_.loss.assign(metrics.sums.loss.begin(), metrics.sums.loss.end());
    open_.score.assign(metrics.sums.score.begin(), metrics.sums.score.end());
    open_.samples = metrics.samples;
  }
  StepJob job = make_job(batch, metrics, done);
  job.context.seed += static_cast<uint64_t>(open_.batches);
  metrics.stops[static_cast<size_t>(placement_.rank)] = 0;
  devices_->status().begin_step(metrics.step);
  record_step(metrics.step);
  metrics.lr = 0;
  if (observer) gradients_->observe(observer);
  gradients_->begin_step(batch);
  on_lanes([&](int lane) {
    if (open_.batches > 0) metrics.clocks[static_cast<size_t>(lane)].end();
    run_towers(lane, job);
  });
  if (observer) gradients_->observe(nullptr);
  complete_towers(metrics);
  open_.on_host = false;
  open_.overflowed = open_.overflowed || result_of(metrics).skipped;
  if (++open_.batches > 1) add_earlier_batches(metrics);
  open_.since = std::chrono::steady_clock::now();
  return result_of(metrics);
}

// Means over the samples of both, in fp64, rounded once.
void TowerTrainer::add_earlier_batches(StepMetrics& metrics) {
  auto earlier = static_cast<double>(open_.samples), newest = static_cast<double>(metrics.samples);
  std::span<float> values = gradients();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((earlier * open_.gradients[i] + newest * values[i]) /
                                   (earlier + newest));
  for (size_t tower = 0; tower < open_.loss.size(); ++tower) {
    metrics.sums.loss[tower] += open_.loss[tower];
    metrics.sums.score[tower] += open_.score[tower];
  }
  metrics.samples += open_.samples;
  write_gradients(metrics);
}

std::span<float> TowerTrainer::gradients() {
  require(open_.batches > 0, "gradients without a step");
  if (std::exchange(open_.on_host, true)) return state_->host_gradients();
  state_->prepare_gradients();
  on_lanes_until_done([this](int lane) { state_->copy_gradients_out(lane); });
  state_->gather_gradients();
  scale_gradients(1 / update_->loss_scale().value());
  return state_->host_gradients();
}

// Without a rounding where loss_scale.initial is a power of two; statistics have no loss scale.
void TowerTrainer::scale_gradients(double factor) {
  if (!update_->loss_scale().on()) return;
  for (float& value : state_->host_gradients().first(static_cast<size_t>(layout_.trained_floats())))
    value = static_cast<float>(value * factor);
}

// The host's copy becomes that of all devices, with its squares. Gradients that overflowed stay
// so, whatever the host has made of them.
void TowerTrainer::write_gradients(StepMetrics& metrics) {
  scale_gradients(update_->loss_scale().value());
  state_->send_gradients(open_.overflowed);
  on_lanes_until_done([&](int lane) {
    state_->copy_gradients_in(lane);
    devices_->meet(lane);
    copy_squares(lane, metrics);
  });
  scale_gradients(1 / update_->loss_scale().value());
}

// Keeps the memory of the vectors.
void TowerTrainer::end_parts() {
  open_.batches = 0;
  open_.on_host = open_.overflowed = false;
}

StepOutcome TowerTrainer::update(double lr) {
  require(open_.batches > 0, "an update without gradients");
  StepMetrics& metrics = metrics_of(begun_);
  if (open_.on_host) write_gradients(metrics);
  metrics.lr = lr;
  metrics.judging =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - open_.since).count();
  judge_step(metrics);
  ParameterUpdate::Step step = update_of(metrics);
  on_lanes([&](int lane) { run_update(lane, metrics, step); });
  ++begun_;
  end_parts();
  return finish_step();
}

void TowerTrainer::discard_gradients() {
  require(open_.batches > 0, "no gradients to discard");
  StepMetrics& metrics = metrics_of(begun_);
  on_lanes_until_done([&](int lane) { metrics.clocks[static_cast<size_t>(lane)].end(); });
  take_trace(metrics.step);
  end_parts();
}

}  // namespace spire
