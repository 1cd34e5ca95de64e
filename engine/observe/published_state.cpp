#include "engine/observe/published_state.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>

#include "engine/observe/evaluations.h"
#include "engine/observe/records.h"

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

// The numbers of the live page as JSON.

namespace {

using Json = nlohmann::ordered_json;

double seconds_since_1970(PublishedState::Time time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

Json metric_json(const MetricValue& value) {
  return {{"name", to_string(value.metric)}, {"value", value.value}, {"text", metric_text(value)}};
}

Json run_json(const StartInfo& start) {
  return {{"job", job_name(start)},
          {"model", start.model},
          {"task", start.task},
          {"dataset", start.dataset},
          {"parameters", start.parameters},
          {"frozen", start.frozen},
          {"global_batch", start.global_batch},
          {"precision", start.precision},
          {"strategy", start.strategy},
          {"processes", start.processes},
          {"evaluated", name_of_data(start.val_samples > 0)},
          {"epochs", start.epochs},
          {"steps_per_epoch", start.steps_per_epoch},
          {"output", start.output},
          {"resumed_step", start.resumed_step}};
}

Json step_json(const StepReport& step) {
  Json parts = Json::object();
  for (const StepPart& part : step_parts)
    parts[std::string(part.name)] = 1e3 * step.times.*part.seconds;
  return {{"step", step.step},
          {"total_steps", step.total_steps},
          {"epoch", step.epoch},
          {"loss", step.loss},
          {"metric", metric_json(step.metric)},
          {"epoch_loss", step.epoch_loss},
          {"epoch_metric", metric_json(step.epoch_metric)},
          {"lr", step.lr},
          {"grad_norm", step.grad_norm},
          {"samples_per_s", step.samples_per_s},
          {"step_ms", step.step_ms},
          {"parts_ms", parts},
          {"eta_seconds", step.eta_seconds},
          {"bad_steps", step.bad_steps},
          {"skipped_steps", step.skipped_steps}};
}

Json devices_json(const PublishedState& state) {
  Json devices = Json::array();
  std::vector<std::string> names = unique_device_names(*state.start);
  for (size_t d = 0; d < names.size(); ++d) {
    const DeviceInfo& info = state.start->devices[d];
    Json device = {{"name", names[d]},
                   {"rank", info.rank},
                   {"host", info.host},
                   {"description", info.description},
                   {"towers", info.towers}};
    if (d < state.devices.size()) {
      const DeviceReport& report = state.devices[d];
      visit_device(
          report, [&](const char* tag, auto number) { device[tag] = static_cast<double>(number); });
      if (report.limit_watts) device["limit_watts"] = *report.limit_watts;
      if (report.max_clock_mhz) device["max_clock_mhz"] = *report.max_clock_mhz;
      if (report.last_xid) device["last_xid"] = *report.last_xid;
      device["throttled"] = report.throttle_reasons;
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

// A column for each name.
template <size_t values>
Json columns(const std::array<DownsampledCurve, values>& curves,
             const std::array<const char*, values>& names) {
  Json result = {{"steps_per_point", curves[0].width()}, {"step", Json::array()}};
  for (size_t i = 0; i < values; ++i) {
    Json column = Json::array();
    for (const CurvePoint& point : curves[i].points()) {
      column.push_back(point.y);
      if (i == 0) result["step"].push_back(point.x);
    }
    result[names[i]] = std::move(column);
  }
  return result;
}

Json eval_json(const EvalReport& eval) {
  Metric decides = eval.best_by.value_or(eval.metric.metric);
  MetricValue best = {decides, measured_value(eval, decides).value_or(eval.metric.value)};
  return {{"step", eval.step},
          {"loss", eval.loss},
          {"metric", metric_json(eval.metric)},
          {"decides", metric_json(best)}};
}

Json messages_json(const std::deque<PublishedState::Message>& messages) {
  Json list = Json::array();
  for (const auto& message : messages)
    list.push_back({{"time", seconds_since_1970(message.time)},
                    {"warning", message.warning},
                    {"text", message.text}});
  return list;
}

}  // namespace

std::string page_json(const PublishedState& state, PublishedState::Time now) {
  Json json = {{"now", seconds_since_1970(now)}};
  if (state.start) {
    json["run"] = run_json(*state.start);
    json["devices"] = devices_json(state);
  }
  if (state.step) {
    json["step"] = step_json(*state.step);
    json["step_at"] = seconds_since_1970(state.step_at);
  }
  if (state.eval) json["eval"] = eval_json(*state.eval);
  if (state.best) json["best"] = eval_json(*state.best);
  if (state.checkpoint)
    json["checkpoint"] = {{"step", state.checkpoint->step},
                          {"bytes", state.checkpoint->bytes},
                          {"path", state.checkpoint->path}};
  json["curve"] = columns<5>(state.curve, {"loss", "metric", "samples_per_s", "lr", "epoch"});
  json["evals"] = columns<2>(state.evals, {"loss", "metric"});
  json["messages"] = messages_json(state.messages);
  if (state.end) json["ended"] = {{"exit", state.end->exit}, {"stopped_by", state.end->stopped_by}};
  // A path may hold bytes that are not UTF-8: replace them instead of throwing.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace spire
