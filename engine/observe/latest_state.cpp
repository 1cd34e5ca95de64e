#include "engine/observe/latest_state.h"

namespace spire {

void LatestState::on_start(const StartInfo& start) {
  auto now = now_();
  std::lock_guard lock(mutex_);
  state_.start = std::make_shared<StartInfo>(start);
  state_.start_at = now;
  state_.devices.reserve(start.devices.size());
}

void LatestState::on_step(const StepReport& step) {
  StepReport numbers = step;
  numbers.parameter_hash.clear();
  numbers.devices = {};
  numbers.audit_line = numbers.chain = {};
  auto now = now_();
  std::lock_guard lock(mutex_);
  state_.step = std::move(numbers);
  state_.step_at = now;
  state_.devices.assign(step.devices.begin(), step.devices.end());
}

void LatestState::on_eval(const EvalReport& eval) {
  std::lock_guard lock(mutex_);
  state_.eval = eval;
  if (eval.best) state_.best = eval;
}

void LatestState::on_checkpoint(const CheckpointReport& checkpoint) {
  auto now = now_();
  std::lock_guard lock(mutex_);
  state_.checkpoint = checkpoint;
  state_.checkpoint_at = now;
  ++state_.checkpoints;
}

void LatestState::on_warning(std::string_view) {
  std::lock_guard lock(mutex_);
  ++state_.warnings;
}

PublishedState LatestState::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace spire
