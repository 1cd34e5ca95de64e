#include "engine/run_page/run_html.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "engine/page/html_text.h"
#include "engine/page/page_parts.h"
#include "engine/run_page/confusion_html.h"
#include "engine/run_page/run_charts.h"
#include "engine/run_page/sample_html.h"

namespace spire::inline run_page {
namespace {

enum class Verdict { good, bad, neutral };

// What the state of a run is in a few words, and whether that is good.
std::pair<std::string, Verdict> verdict_of(const RunFiles& run) {
  if (run.state == RunState::running) return {"running", Verdict::neutral};
  if (!run.summary)
    return {"not ended: it was killed, or it runs on another host or in another container",
            Verdict::neutral};
  const SummaryRecord& summary = *run.summary;
  if (summary.exit == static_cast<int>(Category::diverged))
    return {"diverged: " + summary.stopped_by, Verdict::bad};
  if (summary.exit == static_cast<int>(Category::interrupted))
    return {fmt::format("stopped by {}",
                        summary.stopped_by == "signal" ? "a signal" : summary.stopped_by),
            Verdict::neutral};
  if (summary.exit != 0)
    return {fmt::format("failed (exit {}): {}", summary.exit, summary.stopped_by), Verdict::bad};
  return {summary.stopped_by == "early_stop" ? "stopped early" : "done", Verdict::good};
}

int64_t steps_of(const RunFiles& run) {
  return run.summary ? run.summary->steps : run.metrics.steps;
}

double epochs_of(const RunFiles& run) {
  return run.summary ? run.summary->epochs : run.metrics.epoch;
}

// "test r2 0.9310, best validation r2 0.9402 at step 400": the figure of unseen data first.
std::string figures_text(const RunFiles& run) {
  std::string text;
  if (run.summary && run.summary->test)
    text =
        fmt::format("test {} {}", name(run.summary->test->metric), metric_text(*run.summary->test));
  auto add = [&](const MetricValue& best, const std::string& place) {
    text += fmt::format("{}best {} {} {}{}", text.empty() ? "" : ", ", evaluated_data(run),
                        name(best.metric), metric_text(best), place);
  };
  // The summary knows what decided; metrics.jsonl knows the step.
  auto decided = run.summary ? run.summary->best : std::nullopt;
  const RunMetrics& metrics = run.metrics;
  if (metrics.best && (!decided || decided->metric == metrics.best_by)) {
    add({*metrics.best_by, *metrics.best}, fmt::format(" at step {}", metrics.best_step));
  } else if (decided) {
    add(*decided, "");
  }
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
    const SummaryRecord& summary = *run.summary;
    add(facts, "devices",
        fmt::format("{}; {} in {}", fmt::join(summary.devices, ", "),
                    counted(summary.towers, "tower"), counted(summary.processes, "process")));
    if (summary.test)
      add(facts, "test data",
          fmt::format("{} {} with the weights of step {}", name(summary.test->metric),
                      metric_text(*summary.test), summary.test_step));
    add(facts, "time", duration_text(summary.seconds));
    add(facts, "speed",
        fmt::format("{} samples/s", count_text(std::llround(summary.samples_per_s))));
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

const char* class_of(Verdict verdict) {
  return verdict == Verdict::good ? " good" : verdict == Verdict::bad ? " bad" : "";
}

std::string result_html(const RunFiles& run) {
  auto [state, verdict] = verdict_of(run);
  std::string html = fmt::format("<div class=\"result\"><p class=\"state{}\">{}</p>\n",
                                 class_of(verdict), html_text(state_text(run)));
  for (const std::string& note : run.notes)
    html += fmt::format("<p class=\"soft\">{}</p>\n", html_text(note));
  return html + "</div>\n";
}

std::string chart_html(const CurveChart& chart, const char* note) {
  return figure(chart.title, note, curves_legend(chart), curve_chart(chart));
}

std::string section(const char* title, const std::string& content) {
  if (content.empty()) return "";
  return fmt::format("<section><h2>{}</h2>\n<div class=\"charts\">\n{}</div></section>\n", title,
                     content);
}

std::string learning_html(const std::vector<RunFiles>& runs) {
  std::string html;
  for (const CurveChart& chart : learning_charts(runs)) {
    bool thinned = std::ranges::any_of(chart.curves, [](const Curve& curve) {
      return std::ranges::any_of(curve.points,
                                 [](const CurvePoint& point) { return point.high > point.low; });
    });
    html += chart_html(chart, thinned ? "mean, and range, of neighbouring steps" : "");
  }
  return section("Training", html);
}

std::string cost_html(const RunFiles& run) {
  std::string html;
  CurveChart time = time_chart(run);
  if (!time.curves.empty()) html += chart_html(time, "means over the lanes of rank 0");
  BarChart memory = memory_chart(run);
  if (!memory.bars.empty())
    html +=
        figure(memory.title, "on the devices of rank 0", parts_legend(memory), bar_chart(memory));
  return section("Time and memory", html);
}

std::string throttled_html(const RunFiles& run) {
  std::string html;
  for (const auto& [name, device] : run.metrics.devices)
    for (const auto& [reason, lines] : device.throttled)
      html += fmt::format("<p class=\"soft\">{} was throttled ({}) in {}.</p>\n", html_text(name),
                          html_text(reason), counted(lines, "recorded step"));
  return html;
}

std::string devices_html(const RunFiles& run) {
  std::string html;
  for (const CurveChart& chart : device_charts(run)) html += chart_html(chart, "");
  return section("Devices", html) + throttled_html(run);
}

// One row a run.
std::string runs_table(const std::vector<RunFiles>& runs) {
  std::string html =
      "<div class=\"wide\"><table><caption>Runs</caption>\n<thead><tr><th>run</th><th>state</th>"
      "<th class=\"n\">steps</th><th class=\"n\">epochs</th><th>figures</th><th>hash</th></tr>"
      "</thead>\n<tbody>\n";
  for (const RunFiles& run : runs)
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.4g}</td><td>{}</td>"
        "<td><code>{}</code></td></tr>\n",
        html_text(run.label), html_text(verdict_of(run).first), count_text(steps_of(run)),
        epochs_of(run), html_text(figures_text(run)),
        html_text(run.summary ? run.summary->parameter_hash : ""));
  return html + "</tbody></table></div>\n";
}

std::string configs_html(const std::vector<RunFiles>& runs) {
  std::string html;
  for (const RunFiles& run : runs)
    if (!run.config_text.empty())
      html += folded_text(runs.size() > 1 ? "Config of " + run.label : "Config", run.config_text);
  return html;
}

bool classifies(const RunFiles& run) {
  return run.metrics.metric == Metric::accuracy;
}

std::string answers_html(const RunFiles& run, const ConfusionMatrix* confusion) {
  std::string html;
  if (confusion) {
    html = confusion_html(*confusion);
  } else if (classifies(run) && !run.checkpoints.empty()) {
    html = fmt::format(
        "<p class=\"soft\">For a confusion matrix of the best checkpoint on the test data: "
        "<code>trainer report --evaluate {}</code></p>\n",
        html_text(run.directory.string()));
  }
  if (run.sample) html += sample_html(*run.sample);
  return html.empty() ? "" : "<section><h2>Answers</h2>\n" + html + "</section>\n";
}

std::string page_of_one(const RunFiles& run, const ConfusionMatrix* confusion) {
  std::string model = model_text(run);
  std::string html =
      fmt::format("<header><h1>{}</h1>\n{}{}{}</header>\n<main>\n", html_text(run.label),
                  model.empty() ? "" : fmt::format("<p class=\"soft\">{}</p>\n", html_text(model)),
                  result_html(run), facts_html(facts_of(run)));
  if (run.metrics.lines == 0) html += "<p class=\"soft\">metrics.jsonl has no lines yet.</p>\n";
  return html + learning_html({run}) + cost_html(run) + devices_html(run) +
         answers_html(run, confusion) + configs_html({run}) + "</main>\n";
}

std::string page_of_several(const std::vector<RunFiles>& runs) {
  std::string html = fmt::format("<header><h1>{} runs</h1>\n</header>\n<main>\n", runs.size());
  html += runs_table(runs);
  for (const RunFiles& run : runs)
    for (const std::string& note : run.notes)
      html += fmt::format("<p class=\"soft\">{}: {}</p>\n", html_text(run.label), html_text(note));
  return html + learning_html(runs) +
         "<p class=\"soft\">The first step in which two of them differ: <code>trainer compare "
         "RUN_A "
         "RUN_B</code></p>\n" +
         configs_html(runs) + "</main>\n";
}

}  // namespace

std::string state_text(const RunFiles& run) {
  auto [state, verdict] = verdict_of(run);
  std::string text = fmt::format("{}, step {}", state, steps_of(run));
  if (double epochs = epochs_of(run); epochs > 0) text += fmt::format(", epoch {:.4g}", epochs);
  if (std::string figures = figures_text(run); !figures.empty()) text += ", " + figures;
  return text;
}

std::string run_html(const std::vector<RunFiles>& runs, const ConfusionMatrix* confusion) {
  require(!runs.empty(), "a page of no run");
  if (runs.size() == 1)
    return whole_page(runs[0].label + ", a run of Spire", page_of_one(runs[0], confusion));
  return whole_page("Runs of Spire", page_of_several(runs));
}

}  // namespace spire::inline run_page
