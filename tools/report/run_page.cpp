#include "tools/report/run_page.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/formatting.h"
#include "engine/observe/page/page.h"

namespace spire {
namespace {

constexpr const char* of_the_host = "host_rss";  // no memory of a device

using Json = nlohmann::json;
using Facts = std::vector<std::pair<std::string, std::string>>;  // name, value

// What the state of a run is in a few words, and "good", "bad" or "".
std::pair<std::string, const char*> verdict_of(const RunFiles& run) {
  if (run.state == RunState::running) return {"running", ""};
  if (!run.summary)
    return {"not ended: it was killed, or it runs on another host or in another container", ""};
  const RunSummary& summary = *run.summary;
  if (summary.exit == static_cast<int>(Category::diverged))
    return {"diverged: " + summary.stopped_by, "bad"};
  if (summary.exit == static_cast<int>(Category::interrupted))
    return {fmt::format("stopped by {}",
                        summary.stopped_by == "signal" ? "a signal" : summary.stopped_by),
            ""};
  if (summary.exit != 0)
    return {fmt::format("failed (exit {}): {}", summary.exit, summary.stopped_by), "bad"};
  return {summary.stopped_by == "early_stop" ? "stopped early" : "done", "good"};
}

int64_t steps_of(const RunFiles& run) {
  return run.summary ? run.summary->steps : run.metrics.steps;
}

double epochs_of(const RunFiles& run) {
  return run.summary ? run.summary->epochs : run.metrics.epoch;
}

struct Figure {
  std::string of, text, note;  // "best validation r2", "0.9402", "at step 400"
};

// That of unseen data first.
std::vector<Figure> figures_of(const RunFiles& run) {
  std::vector<Figure> figures;
  std::optional<MetricValue> decided;
  if (run.summary && !std::isnan(run.summary->val.best))
    decided = MetricValue{run.summary->val.best_by, run.summary->val.best};
  if (run.summary && run.summary->test) {
    const TestSummary& test = *run.summary->test;
    MetricValue shown = test.metric;
    if (auto value = decided ? measured_value(test, decided->metric) : std::nullopt)
      shown = {decided->metric, *value};
    figures.push_back({fmt::format("test {}", to_string(shown.metric)), metric_text(shown),
                       fmt::format("with the weights of step {}", test.step)});
  }
  auto add = [&](const MetricValue& best, const std::string& note) {
    figures.push_back({fmt::format("best {} {}", evaluated_data(run), to_string(best.metric)),
                       metric_text(best), note});
  };
  // The summary knows what decided; metrics.jsonl knows the step.
  const RunMetrics& metrics = run.metrics;
  if (metrics.best && (!decided || decided->metric == metrics.best_by)) {
    add({*metrics.best_by, *metrics.best}, fmt::format("at step {}", metrics.best_step));
  } else if (decided) {
    add(*decided, "");
  }
  return figures;
}

// "step 400, epoch 4"
std::string progress_text(const RunFiles& run) {
  std::string text = fmt::format("step {}", steps_of(run));
  if (double epochs = epochs_of(run); epochs > 0) text += fmt::format(", epoch {:.4g}", epochs);
  return text;
}

std::string model_text(const RunFiles& run) {
  if (!run.config) return "";
  return fmt::format("{} on {}", run.config->model.name, run.config->data.name);
}

void add(Facts& facts, const char* name, const std::string& value) {
  if (!value.empty()) facts.emplace_back(name, value);
}

void add_config(Facts& facts, const RunConfig& config) {
  add(facts, "model", config.model.name);
  add(facts, "data", config.data.name);
  add(facts, "optimizer",
      fmt::format("{}, lr {:.6g}, schedule {}", word_of(config.optimizer.name), config.optimizer.lr,
                  word_of(config.schedule.name)));
  add(facts, "precision", std::string(word_of(config.precision)));
}

std::string counters_text(const RunMetrics& metrics) {
  std::vector<std::string> parts;
  auto part = [&](int64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  part(metrics.not_finite, "recorded without a finite loss");
  part(metrics.skipped_steps, "skipped by fp16");
  part(metrics.bad_steps, "bad");
  part(metrics.rollbacks, "rolled back");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Size of the newest checkpoint, names of the best and the newest.
std::string checkpoints_text(const RunFiles& run) {
  if (run.checkpoints.empty()) return "none";
  std::string text = fmt::format("{}, {} each", counted(std::ssize(run.checkpoints), "file"),
                                 bytes_text(run.checkpoints.back().second));
  if (!run.best.empty()) text += "; best: " + run.best;
  if (!run.latest.empty()) text += "; newest: " + run.latest;
  return text;
}

Facts facts_of(const RunFiles& run) {
  Facts facts;
  add(facts, "folder", run.directory.string());
  if (run.config) add_config(facts, *run.config);
  if (run.summary) {
    const RunSummary& summary = *run.summary;
    add(facts, "devices",
        fmt::format("{}; {} in {}", fmt::join(summary.devices, ", "),
                    counted(summary.towers, "tower"), counted(summary.processes, "process")));
    if (auto rss = summary.peak_memory_bytes.find(of_the_host);
        rss != summary.peak_memory_bytes.end())
      add(facts, "memory of the host", bytes_text(rss->second));
    add(facts, "parameter hash", summary.parameter_hash);
    add(facts, "averaged weights", summary.ema_hash);
    add(facts, "audit chain", summary.chain);
  } else if (run.config) {
    add(facts, "devices", fmt::format("{}", fmt::join(run.config->devices, ", ")));
  }
  add(facts, "last process", run.process);
  if (!run.metrics.first_time.empty())
    add(facts, "metrics",
        fmt::format("{} lines, from {} to {}", count_text(run.metrics.lines),
                    run.metrics.first_time, run.metrics.last_time));
  add(facts, "checkpoints", checkpoints_text(run));
  add(facts, "steps", counters_text(run.metrics));
  return facts;
}

// Means of whole epochs, where there are some: batches alone jump.
bool shows_epochs(const RunFiles& run) {
  return run.metrics.epoch >= 4;
}

Json curve_json(const DownsampledCurve& curve) {
  bool with_range = false;
  Json x = Json::array(), y = Json::array(), low = Json::array(), high = Json::array();
  for (const CurvePoint& point : curve.points()) {
    with_range = with_range || point.low < point.high;
    bool finite = std::isfinite(point.y);
    x.push_back(drawn_number(point.x));
    y.push_back(drawn_number(point.y));
    low.push_back(finite ? Json(drawn_number(point.low)) : Json());
    high.push_back(finite ? Json(drawn_number(point.high)) : Json());
  }
  Json json = {{"x", std::move(x)}, {"y", std::move(y)}};
  if (with_range) json.update({{"low", std::move(low)}, {"high", std::move(high)}});
  return json;
}

// curves: of steps and evaluations. epochs: of steps.
Json curves_json(const RunFiles& run, const Curves& curves, const Curves& epochs) {
  Json json = Json::object();
  for (const auto& [tag, curve] : curves) json[tag] = curve_json(curve);
  if (shows_epochs(run))
    for (const auto& [tag, curve] : epochs)
      if (tag != "train/lr") json[tag] = curve_json(curve);
  return json;
}

Json devices_json(const RunFiles& run) {
  Json json = Json::object();
  for (const auto& [name, device] : run.metrics.devices)
    json[name] = {{"curves", curves_json(run, device.curves, device.epochs)},
                  {"throttled", Json::object()}};
  for (const auto& [name, device] : run.metrics.devices)
    for (const auto& [reason, lines] : device.throttled) json[name]["throttled"][reason] = lines;
  return json;
}

bool classifies(const RunFiles& run) {
  return run.metrics.metric == Metric::accuracy;
}

Json run_json(const RunFiles& run) {
  auto [state, verdict] = verdict_of(run);
  const RunMetrics& metrics = run.metrics;
  auto text_of = [](std::optional<Metric> metric) { return metric ? to_string(*metric) : ""; };
  Json json = {{"label", run.label},
               {"model", model_text(run)},
               {"state", state},
               {"verdict", verdict},
               {"progress", progress_text(run)},
               {"figures", Json::array()},
               {"steps", steps_of(run)},
               {"epochs", epochs_of(run)},
               {"notes", run.notes},
               {"facts", facts_of(run)},
               {"metric", text_of(metrics.metric)},
               {"decides", text_of(metrics.best_by)},
               {"evaluated", evaluated_data(run)},
               {"by_epoch", shows_epochs(run)},
               {"curves", curves_json(run, metrics.curves, metrics.epochs)},
               {"devices", devices_json(run)},
               {"planned", Json::object()},
               {"peak", Json::object()},
               {"config", run.config_text}};
  for (const Figure& figure : figures_of(run))
    json["figures"].push_back({{"of", figure.of}, {"text", figure.text}, {"note", figure.note}});
  if (metrics.lines == 0) json["notes"].push_back("metrics.jsonl has no lines yet.");
  if (run.summary) {
    json["time"] = duration_text(run.summary->seconds);
    json["speed"] = count_text(std::llround(run.summary->samples_per_s));
    json["hash"] = run.summary->parameter_hash;
    for (const auto& [kind, bytes] : run.summary->planned_memory_bytes)
      json["planned"][kind] = bytes;
    for (const auto& [kind, bytes] : run.summary->peak_memory_bytes)
      if (kind != of_the_host) json["peak"][kind] = bytes;
  }
  if (run.sample) {
    const SampleFile& sample = *run.sample;
    json["sample"] = {
        {"name", sample.name},
        {sample.image ? "png" : "text", sample.image ? base64(sample.bytes) : sample.bytes}};
  }
  if (classifies(run) && !run.checkpoints.empty())
    json["hint"] = {"For a confusion matrix of the best checkpoint on the test data: ",
                    "trainer report --evaluate " + run.directory.string()};
  return json;
}

}  // namespace

std::string state_text(const RunFiles& run) {
  std::string text = fmt::format("{}, {}", verdict_of(run).first, progress_text(run));
  for (const Figure& figure : figures_of(run)) {
    text += fmt::format(", {} {}", figure.of, figure.text);
    if (figure.note.starts_with("at step")) text += " " + figure.note;
  }
  return text;
}

Json report_json(const std::vector<RunFiles>& runs, const ConfusionMatrix* confusion) {
  require(!runs.empty(), "a page of no run");
  Json data = {{"runs", Json::array()}};
  for (const RunFiles& run : runs) data["runs"].push_back(run_json(run));
  if (confusion) data["confusion"] = confusion_json(*confusion);
  return data;
}

std::string report_html(const std::vector<RunFiles>& runs, const ConfusionMatrix* confusion) {
  Json data = report_json(runs, confusion);
  std::string summary;
  for (const RunFiles& run : runs) summary += run.label + ": " + state_text(run) + ". ";
  summary += "The summary.json of a run has its figures, metrics.jsonl its course.";
  return html_of({"report", runs.size() == 1 ? runs[0].label + ", a run of Spire" : "Runs of Spire",
                  summary, data.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

}  // namespace spire
