#include "engine/observe/json_files.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <map>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/write_file.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/records.h"

namespace spire {
namespace {

using Json = nlohmann::ordered_json;

// Writes numbers that are not finite as null: JSON has no such numbers, and null keeps a column
// numeric.
std::string line_of(const Json& record) {
  return record.dump() + "\n";
}

// For the visitors of records.h.
auto put_into(Json& record, std::string prefix = "") {
  return [&record, prefix = std::move(prefix)](std::string_view tag, auto number) {
    record[fmt::format("{}{}", prefix, tag)] = number;
  };
}

// Tells whether a resumed run keeps the line: it is whole JSON, and its step is already done.
bool belongs(std::string_view line, int64_t last_step, bool saved_again) {
  Json record = Json::parse(line, nullptr, false);
  if (!record.is_object()) return false;
  auto step = record.find("step");
  if (step == record.end() || !step->is_number_integer()) return false;
  bool replaced = saved_again && *step == last_step &&
                  (record.contains("checkpoint/bytes") || record.contains("val/loss"));
  // The test data is evaluated once, at the end of the run, which is now another one.
  bool tested = record.contains("test/loss");
  return step->get<int64_t>() <= last_step && !replaced && !tested;
}

}  // namespace

std::string metrics_through(std::string_view text, int64_t step, bool saved_again) {
  std::string kept;
  // A last line without a newline is torn, and dropped.
  while (true) {
    size_t end = text.find('\n');
    if (end == text.npos) return kept;
    std::string_view line = text.substr(0, end);
    if (belongs(line, step, saved_again)) kept.append(line).push_back('\n');
    text.remove_prefix(end + 1);
  }
}

MetricsFile::MetricsFile(std::filesystem::path path, LineFile::Warn warn, WallClock now)
    : file_(std::move(path), std::move(warn)), now_(std::move(now)) {}

void MetricsFile::on_start(const StartInfo& start) {
  devices_ = start.devices;
  step_ = start.resumed_step;
  std::vector<std::string> names = unique_device_names(start);
  for (size_t d = 0; d < names.size(); ++d) devices_[d].name = names[d];
  std::string kept;
  if (!start.resumed_from.empty()) {
    auto before = read_file_if_there(file_.path(), Category::config, any_size);
    kept = metrics_through(before.value_or(""), start.resumed_step, start.evaluates_again);
  }
  file_.begin(kept);
}

void MetricsFile::on_step(const StepReport& step) {
  step_ = step.step;
  if (!step.record) return;
  Json record = {{"time", utc_text(now_())}, {"step", step.step}};
  visit_step(step, put_into(record));
  if (!step.parameter_hash.empty()) record["train/parameter_hash"] = step.parameter_hash;
  if (!step.chain.empty()) record["train/chain"] = step.chain;
  file_.append(line_of(record));
  append_devices(step);
}

void MetricsFile::append_devices(const StepReport& step) {
  for (size_t d = 0; d < std::min(step.devices.size(), devices_.size()); ++d) {
    const DeviceReport& device = step.devices[d];
    Json record = {{"time", utc_text(now_())},
                   {"step", step.step},
                   {"device", devices_[d].name},
                   {"rank", devices_[d].rank}};
    visit_device(device, put_into(record, "device/"));
    if (!device.throttle_reasons.empty()) record["device/throttled"] = device.throttle_reasons;
    file_.append(line_of(record));
  }
}

void MetricsFile::on_eval(const EvalReport& eval) {
  append_evaluation("val", eval);
}

void MetricsFile::on_test(const EvalReport& eval) {
  append_evaluation("test", eval);
}

// data: val or test.
void MetricsFile::append_evaluation(const std::string& data, const EvalReport& eval) {
  Json record = {{"time", utc_text(now_())}, {"step", eval.step}, {"epoch", eval.epoch}};
  visit_evaluation(data, eval, put_into(record));
  file_.append(line_of(record));
}

void MetricsFile::on_checkpoint(const CheckpointReport& checkpoint) {
  Json record = {{"time", utc_text(now_())}, {"step", checkpoint.step}};
  visit_checkpoint(checkpoint, put_into(record));
  file_.append(line_of(record));
}

// Before on_start() there is no file. A path in the text may hold bytes that are not UTF-8.
void MetricsFile::on_warning(std::string_view text) {
  Json record = {{"time", utc_text(now_())}, {"step", step_}, {"warning", text}};
  file_.append(record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

namespace {

// Whether the line is of a step up to the last. All lines begin with their step, so that a long
// file need not be parsed.
bool begins_by(std::string_view line, int64_t last_step) {
  constexpr std::string_view start = "{\"step\":";
  int64_t step = 0;
  if (!line.starts_with(start)) return false;
  line.remove_prefix(start.size());
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  return error == std::errc() && step <= last_step;
}

}  // namespace

std::string audit_through(std::string_view text, int64_t step) {
  size_t kept = 0;
  for (size_t end; (end = text.find('\n', kept)) != text.npos; kept = end + 1)
    if (!begins_by(text.substr(kept, end - kept), step)) break;
  return std::string(text.substr(0, kept));
}

void AuditFile::on_start(const StartInfo& start) {
  std::string kept;
  if (start.audit_goes_on) {
    auto before = read_file_if_there(file_.path(), Category::config, any_size);
    kept = audit_through(before.value_or(""), start.resumed_step);
  }
  if (!start.audit_goes_on && start.audit_lines.empty() && !is_there(file_.path())) return;
  file_.begin(kept + start.audit_lines);
}

namespace {

void add_others(const std::vector<MetricValue>& others, Json& json) {
  for (const MetricValue& other : others) json[std::string(to_string(other.metric))] = other.value;
}

Json validation(const ValidationSummary& val) {
  if (!val.measured) return nullptr;
  Json json = {{"loss", val.loss}, {std::string(to_string(val.metric.metric)), val.metric.value}};
  add_others(val.others, json);
  json[fmt::format("best_{}", to_string(val.best_by))] = val.best;
  json["data"] = name_of_data(val.held_out);
  return json;
}

// Makes {} of an empty map, where the JSON library makes null.
Json by_kind(const std::map<std::string, int64_t>& bytes) {
  return bytes.empty() ? Json::object() : Json(bytes);
}

Json in_milliseconds(const StepTimes& times) {
  Json parts = Json::object();
  for (const StepPart& part : step_parts) parts[std::string(part.name)] = 1e3 * times.*part.seconds;
  return parts;
}

}  // namespace

std::string summary_json(const RunSummary& summary) {
  Json json = {{"steps", summary.steps},
               {"epochs", summary.epochs},
               {"train_loss", summary.train_loss},
               {"val", validation(summary.val)},
               {"samples_per_s", summary.samples_per_s},
               {"step_times_ms", in_milliseconds(summary.times)},
               {"parameter_hash", summary.parameter_hash},
               {"devices", summary.devices},
               {"towers", summary.towers},
               {"processes", summary.processes},
               {"strategy", summary.strategy},
               {"seconds", summary.seconds},
               {"peak_memory_bytes", by_kind(summary.peak_memory_bytes)},
               {"planned_memory_bytes", by_kind(summary.planned_memory_bytes)},
               {"verdict", summary.verdict},
               {"exit", summary.exit},
               {"stopped_by", summary.stopped_by},
               {"output", summary.output},
               {"checkpoint", summary.checkpoint},
               {"metrics", summary.metrics}};
  if (!summary.ema_hash.empty()) json["ema_hash"] = summary.ema_hash;
  if (!summary.chain.empty()) json["chain"] = summary.chain;
  if (const auto& test = summary.test) {
    Json& part = json["test"];
    part = {{"loss", test->loss},
            {std::string(to_string(test->metric.metric)), test->metric.value}};
    add_others(test->others, part);
    part["step"] = test->step;
  }
  // A path may hold bytes that are not UTF-8: replace them instead of throwing.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

template <typename T>
void take(const Json& json, const char* key, T& value) {
  auto found = json.find(key);
  if (found == json.end() || (std::is_integral_v<T> && !found->is_number_integer())) return;
  try {
    value = found->get<T>();
  } catch (const Json::exception&) {
  }
}

// Numbers that are not finite are written as null.
double number_of(const Json& value, double otherwise) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  return value.is_number() ? value.get<double>() : otherwise;
}

void take(const Json& json, const char* key, double& value) {
  if (auto found = json.find(key); found != json.end()) value = number_of(*found, value);
}

// The task's metric stands before the others; without one it is the loss.
template <typename Evaluation>
void take_metrics(const Json& json, Evaluation& evaluation) {
  take(json, "loss", evaluation.loss);
  evaluation.metric = {Metric::loss, evaluation.loss};
  for (const auto& [key, value] : json.items()) {
    auto metric = find_metric(key);
    if (!metric || *metric == Metric::loss) continue;
    MetricValue read{*metric, number_of(value, std::numeric_limits<double>::quiet_NaN())};
    if (evaluation.metric.metric == Metric::loss)
      evaluation.metric = read;
    else
      evaluation.others.push_back(read);
  }
}

void take_validation(const Json& json, ValidationSummary& val) {
  if (!json.is_object()) return;
  constexpr std::string_view best = "best_";
  val.measured = true;
  take_metrics(json, val);
  for (const auto& [key, value] : json.items())
    if (auto metric = key.starts_with(best) ? find_metric(key.substr(best.size())) : std::nullopt) {
      val.best_by = *metric;
      val.best = number_of(value, val.best);
    }
  std::string data;
  take(json, "data", data);
  val.held_out = data == name_of_data(true);
}

}  // namespace

std::optional<RunSummary> read_summary(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  RunSummary summary;
  summary.exit = static_cast<int>(Category::unexpected);  // where the text has none
  summary.val.best = std::numeric_limits<double>::quiet_NaN();
  auto all = [&](auto... pairs) { (take(json, pairs.first, *pairs.second), ...); };
  auto to = [](const char* key, auto& value) { return std::pair(key, &value); };
  all(to("steps", summary.steps), to("epochs", summary.epochs),
      to("train_loss", summary.train_loss), to("samples_per_s", summary.samples_per_s),
      to("parameter_hash", summary.parameter_hash), to("devices", summary.devices),
      to("towers", summary.towers), to("processes", summary.processes),
      to("strategy", summary.strategy), to("seconds", summary.seconds),
      to("peak_memory_bytes", summary.peak_memory_bytes),
      to("planned_memory_bytes", summary.planned_memory_bytes), to("verdict", summary.verdict),
      to("exit", summary.exit), to("stopped_by", summary.stopped_by), to("output", summary.output),
      to("checkpoint", summary.checkpoint), to("metrics", summary.metrics),
      to("ema_hash", summary.ema_hash), to("chain", summary.chain));
  if (auto val = json.find("val"); val != json.end()) take_validation(*val, summary.val);
  if (auto test = json.find("test"); test != json.end() && test->is_object()) {
    take_metrics(*test, summary.test.emplace());
    take(*test, "step", summary.test->step);
  }
  if (auto times = json.find("step_times_ms"); times != json.end() && times->is_object())
    for (const StepPart& part : step_parts) {
      double milliseconds = 0;
      take(*times, std::string(part.name).c_str(), milliseconds);
      summary.times.*part.seconds = milliseconds / 1e3;
    }
  return summary;
}

SummaryFile::SummaryFile(std::filesystem::path path, Warn warn)
    : path_(std::move(path)), warn_(std::move(warn)) {}

// Creates and removes a temporary file, so that a bad path ends the run before its first step.
void SummaryFile::on_start(const StartInfo&) {
  AtomicWriter(path_, Category::config);
}

void SummaryFile::on_end(const RunSummary& summary) {
  if (summary.output.empty()) return;
  try {
    write_file_atomically(path_, summary_json(summary), Category::unexpected);
  } catch (const Error& error) {
    lost_ = error.what();
    warn_(lost_);
  }
}

}  // namespace spire
