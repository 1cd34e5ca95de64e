#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spire/load_config.h>
#include <spire/metric.h>

#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/observe/evaluations.h"
#include "tools/audit/check_run.h"

namespace spire {
namespace {

using Json = nlohmann::ordered_json;
using Kind = MetricsLine::Kind;

const char* word_of_kind(Kind kind) {
  return kind == Kind::train ? "training" : kind == Kind::val ? "validation" : "the test";
}

// Returns "" where `recorded` is none or the same.
std::string other_number(const std::string& what, std::optional<double> recorded, double expected,
                         const char* of) {
  if (!recorded || same_number(*recorded, expected)) return "";
  return fmt::format("{} {}, and {} has {}", what, unsigned_nan(*recorded), of,
                     unsigned_nan(expected));
}

std::optional<RunConfig> config_of(const StateMetadata& state) {
  try {
    return parse_config({{"config", state.config_yaml}}, {}).config;
  } catch (const Error&) {
    return {};  // of a program with other keys
  }
}

// The task's metric stands behind the loss.
std::string task_metric(const MetricsLine& line) {
  for (const auto& [key, value] : line.numbers)
    if (key.starts_with("val/") && key != "val/loss") return key.substr(4);
  return "";
}

std::optional<double> number_in(const Json& json, const std::string& key) {
  auto found = json.find(key);
  if (found == json.end()) return {};
  if (found->is_null()) return std::nan("");
  return found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// A run that failed may have changed its weights in the step that it did not finish.
bool has_failed(const Json& summary) {
  auto exit = summary.find("exit");
  return exit != summary.end() && *exit != 0 && *exit != static_cast<int>(Category::interrupted);
}

// The values of `part`, "val" or "test" of summary.json, that are not those of its line.
std::string part_problem(const Json& part, const char* name, const MetricsLine& line) {
  for (const auto& [key, value] : part.items()) {
    auto expected = line.number(fmt::format("{}/{}", name, key));
    if (!expected) continue;
    std::string text = other_number(fmt::format("{} {}", name, key), number_in(part, key),
                                    *expected, "metrics.jsonl");
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

MetricsIndex index_of(const std::vector<MetricsLine>& lines) {
  MetricsIndex index;
  for (const MetricsLine& line : lines) index.try_emplace({line.kind, line.step}, &line);
  return index;
}

bool same_number(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) == std::isfinite(b);
  return same_bits(a, b);
}

NumbersCheck::NumbersCheck(const AuditLog& log, const RunRecords& run,
                           const std::vector<MetricsLine>& lines, const MetricsIndex& index,
                           RunCheck& check)
    : log_(log), run_(run), lines_(index), check_(check) {
  for (const MetricsLine& line : lines) {
    check_line(line);
    if (lines_.at({line.kind, line.step}) != &line)
      problem(fmt::format("metrics.jsonl: step {} has a second line of {}", line.step,
                          word_of_kind(line.kind)));
  }
}

void NumbersCheck::check_line(const MetricsLine& line) {
  std::string text = line.kind == Kind::train ? step_problem(line) : "";
  if (text.empty())
    ++check_.metrics;
  else
    problem(fmt::format("metrics.jsonl: step {}: {}", line.step, text));
}

std::string NumbersCheck::step_problem(const MetricsLine& line) const {
  auto record = log_.records.find(line.step);
  if (record == log_.records.end())
    return line.step > log_.first ? "audit.jsonl does not have this step" : "";
  const AuditRecord& was = record->second;
  for (const auto& [what, key, expected] :
       {std::tuple("loss", "train/loss", was.loss), std::tuple("learning rate", "train/lr", was.lr),
        std::tuple("gradient norm", "train/grad_norm", was.grad_norm)}) {
    std::string text = other_number(what, line.number(key), expected, "audit.jsonl");
    if (!text.empty()) return text;
  }
  if (!line.chain.empty() && line.chain != log_.values.at(line.step))
    return fmt::format("chain value {}, and audit.jsonl has {}", line.chain,
                       log_.values.at(line.step));
  return "";
}

void NumbersCheck::take(const StateMetadata& state) {
  states_[state.step] = state;
  check_evaluation(state);
  check_best(state);
  auto line = lines_.find({Kind::train, state.step});
  if (line == lines_.end() || line->second->parameter_hash.empty() ||
      line->second->parameter_hash == state.parameter_hash)
    return;
  problem(fmt::format("metrics.jsonl: step {}: the weights' hash is {}, and the checkpoint has {}",
                      state.step, line->second->parameter_hash, state.parameter_hash));
}

void NumbersCheck::check_evaluation(const StateMetadata& state) {
  int64_t step = state.evaluated_step;
  if (step < 0 || step <= log_.first) return;
  auto found = lines_.find({Kind::val, step});
  if (found == lines_.end())
    return problem(
        fmt::format("metrics.jsonl: the evaluation of step {} is missing, of which the "
                    "checkpoint of step {} has the result",
                    step, state.step));
  const MetricsLine& line = *found->second;
  std::string metric = task_metric(line);
  std::vector<std::pair<std::string, double>> known = {{"loss", state.evaluated_loss},
                                                       {metric, state.evaluated_metric}};
  for (const MetricValue& other : state.evaluated_others)
    known.emplace_back(to_string(other.metric), other.value);
  for (const auto& [key, value] : known) {
    std::string of = fmt::format("the checkpoint of step {}", state.step);
    std::string text = other_number(key, line.number("val/" + key), value, of.c_str());
    if (!text.empty()) problem(fmt::format("metrics.jsonl: evaluation of step {}: {}", step, text));
  }
}

// The best one is as its line says, and none after it is better. One before it may be: a run that
// is resumed with other best.* or data.val begins anew.
void NumbersCheck::check_best(const StateMetadata& state) {
  auto found = lines_.find({Kind::val, state.best_step});
  auto config = config_of(state);
  if (found == lines_.end() || !config) return;
  std::string metric =
      config->best.metric == "auto" ? task_metric(*found->second) : config->best.metric;
  auto known = find_metric(metric);
  auto value = found->second->number("val/" + metric);
  if (!known || !value) return;
  std::string of = fmt::format("the checkpoint of step {}", state.step);
  std::string text = other_number(metric, value, state.best_metric, of.c_str());
  if (!text.empty())
    problem(
        fmt::format("metrics.jsonl: the best evaluation, of step {}: {}", state.best_step, text));
  bool higher = best_is_higher(config->best, *known);
  auto end = lines_.upper_bound({Kind::val, std::max(state.best_step, state.evaluated_step)});
  for (auto each = std::next(found); each != end; ++each) {
    auto later = each->second->number("val/" + metric);
    if (later && (higher ? *later > state.best_metric : *later < state.best_metric))
      return problem(
          fmt::format("the checkpoint of step {}: its best evaluation is of step {}, "
                      "and that of step {} is better",
                      state.step, state.best_step, each->first.second));
  }
}

// As the config has it of the run that wrote the step: that of the next checkpoint.
int64_t NumbersCheck::lines_every(int64_t step) const {
  auto next = states_.lower_bound(step);
  auto config = next == states_.end() ? std::nullopt : config_of(next->second);
  return config ? config->log.every_steps : run_.config.log.every_steps;
}

void NumbersCheck::check_missing() {
  std::vector<int64_t> missing;
  std::map<int64_t, int64_t> every;  // by the next checkpoint's step
  for (const auto& [step, record] : log_.records) {
    auto next = states_.lower_bound(step);
    int64_t key = next == states_.end() ? -1 : next->first;
    auto known = every.find(key);
    if (known == every.end()) known = every.emplace(key, lines_every(step)).first;
    if (step % known->second == 0 && !lines_.contains({Kind::train, step})) missing.push_back(step);
  }
  if (!missing.empty())
    problem(
        fmt::format("metrics.jsonl: {} missing, the first of step {}",
                    counted(std::ssize(missing), "line") + (missing.size() > 1 ? " are" : " is"),
                    missing.front()));
}

void NumbersCheck::check_summary() {
  auto text = read_file_if_there(run_.directory / "summary.json", Category::config);
  if (!text) {
    const auto& steps = run_.config.steps;
    if (steps && log_.last >= *steps && states_.contains(log_.last))
      problem(
          fmt::format("summary.json: is missing, and the run has reached its last step, {}; a run "
                      "that was killed right then has none until it is resumed",
                      log_.last));
    return;
  }
  Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("steps") || !json["steps"].is_number_integer())
    return problem("summary.json: is not that of a run");
  auto step = json["steps"].get<int64_t>();
  auto value = log_.values.find(step);
  auto root = log_.roots.find(step);
  std::string chain = text_in(json, "chain");
  bool follows_root = root != log_.roots.end() && chain == root->second.value;
  if (value == log_.values.end())
    problem(fmt::format("summary.json: audit.jsonl does not have step {}", step));
  else if (!follows_root && chain != value->second)
    problem(fmt::format("summary.json: chain {}, and audit.jsonl has {} of step {}", chain,
                        value->second, step));
  auto state = states_.find(step);
  auto line = lines_.find({Kind::train, step});
  std::string hash = text_in(json, "parameter_hash"), known;
  if (state != states_.end())
    known = state->second.parameter_hash;
  else if (line != lines_.end())
    known = line->second->parameter_hash;
  if (!known.empty() && hash != known && !has_failed(json))
    problem(fmt::format("summary.json: parameter_hash {}, and the weights of step {} have {}", hash,
                        step, known));
  check_summary_parts(json, step);
}

// The last evaluation until the step, and that of the test data.
void NumbersCheck::check_summary_parts(const Json& json, int64_t step) {
  const MetricsLine *val = nullptr, *test = nullptr;
  for (const auto& [key, each] : lines_) {
    if (key.first == Kind::val && key.second <= step) val = each;
    if (key.first == Kind::test) test = each;
  }
  auto whole = json.find("val");
  if (val && (whole == json.end() || whole->is_null()))
    problem("summary.json: val is null, and metrics.jsonl has an evaluation");
  if (whole != json.end() && whole->is_object()) check_summary_data(json, text_in(*whole, "data"));
  for (const auto& [name, each] : {std::pair("val", val), std::pair("test", test)}) {
    auto part = json.find(name);
    if (part == json.end() || !part->is_object()) continue;
    if (!each)
      problem(fmt::format("summary.json: {}, of which metrics.jsonl has no line", name));
    else if (std::string other = part_problem(*part, name, *each); !other.empty())
      problem("summary.json: " + other);
  }
  auto state = states_.find(step);
  if (state == states_.end() || !json.contains("val") || !json["val"].is_object()) return;
  for (const auto& [key, best] : json["val"].items())
    if (key.starts_with("best_")) {
      std::string other = other_number(key, number_in(json["val"], key), state->second.best_metric,
                                       "the last checkpoint");
      if (!other.empty() && state->second.best_step >= 0) problem("summary.json: " + other);
    }
}

// Validation data leaves the test data to the end of the run.
void NumbersCheck::check_summary_data(const Json& json, const std::string& data) {
  if (data.empty()) return;
  const ValConfig& val = run_.config.data.val;
  bool asked = val.share > 0 || val.path != "none";
  auto exit = json.find("exit");
  if (asked && data != "validation")
    problem(
        fmt::format("summary.json: val is of data '{}', and the config has validation data", data));
  else if (data == "validation" && exit != json.end() && *exit == 0 && !json.contains("test"))
    problem("summary.json: val is of data 'validation', and there is no test");
}

void NumbersCheck::finish() {
  check_missing();
  check_summary();
}

}  // namespace spire
