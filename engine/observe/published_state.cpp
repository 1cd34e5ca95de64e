#include "engine/observe/published_state.h"

#include <filesystem>

#include <nlohmann/json.hpp>

namespace spire {

void LatestState::on_start(const StartInfo& start) {
  auto time = now();
  std::lock_guard lock(mutex_);
  state_.start = std::make_shared<StartInfo>(start);
  state_.start_at = time;
  state_.devices.reserve(start.devices.size());
}

void LatestState::on_step(const StepReport& step) {
  StepReport numbers = step;
  numbers.parameter_hash.clear();
  numbers.devices = {};
  numbers.audit_line = numbers.chain = {};
  const std::array values = {step.loss, step.metric.value, step.samples_per_s, step.lr, step.epoch};
  auto time = now();
  std::lock_guard lock(mutex_);
  state_.step = std::move(numbers);
  state_.step_at = time;
  state_.devices.assign(step.devices.begin(), step.devices.end());
  for (size_t i = 0; i < values.size(); ++i)
    state_.curve[i].add(static_cast<double>(step.step), values[i]);
}

void LatestState::on_eval(const EvalReport& eval) {
  std::lock_guard lock(mutex_);
  state_.eval = eval;
  if (eval.best) state_.best = eval;
  state_.evals[0].add(static_cast<double>(eval.step), eval.loss);
  state_.evals[1].add(static_cast<double>(eval.step), eval.metric.value);
}

void LatestState::on_checkpoint(const CheckpointReport& checkpoint) {
  auto time = now();
  std::lock_guard lock(mutex_);
  state_.checkpoint = checkpoint;
  state_.checkpoint_at = time;
  ++state_.checkpoints;
}

void LatestState::on_end(const RunSummary& summary) {
  std::lock_guard lock(mutex_);
  state_.end = {summary.exit, summary.stopped_by};
}

void LatestState::add_message(bool warning, std::string_view text) {
  auto time = now();
  std::lock_guard lock(mutex_);
  state_.warnings += warning ? 1 : 0;
  state_.messages.push_back({time, warning, std::string(text)});
  if (state_.messages.size() > PublishedState::max_messages) state_.messages.pop_front();
}

PublishedState LatestState::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

std::string job_name(const StartInfo& start) {
  std::filesystem::path path = std::filesystem::path(start.output).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::string name = path.filename().string();
  return name.empty() || name == "." || name == ".." ? start.model : name;
}

// JSON is UTF-8, and its writer has the replacement.
std::string valid_utf8(std::string_view text) {
  using Json = nlohmann::json;
  std::string json = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(json).get<std::string>();
}

}  // namespace spire
