#include "engine/run_page/run_charts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "engine/observe/formatting.h"

namespace spire::inline run_page {
namespace {

std::string plain_text(double value) {
  return fmt::format("{:.4g}", value);
}

std::string share_axis_text(double share) {
  return fmt::format("{:.4g}%", 100 * share);
}

std::string rate_text(double rate) {
  return rate >= 1000 ? count_text(std::llround(rate)) : fmt::format("{:.3g}", rate);
}

std::string gib_text(double gib) {
  return fmt::format("{:.3g}", gib);
}

using Pick = const ThinCurve& (*)(const RunMetrics&);

// Of training: pale and many values. Of evaluations: markers where they are few.
// what: null: the data that was evaluated.
void add_curves(CurveChart& chart, const std::vector<RunFiles>& runs, const char* what, Pick pick,
                bool evaluated) {
  int colour = 0;
  for (const RunFiles& run : runs) {
    const ThinCurve& values = pick(run.metrics);
    int own = runs.size() > 1 ? colour : (evaluated ? 1 : 0);
    ++colour;
    if (values.empty()) continue;
    std::string label = what ? what : evaluated_data(run);
    if (runs.size() > 1)
      label = label.empty() ? run.label : fmt::format("{}, {}", run.label, label);
    chart.curves.push_back({.label = label,
                            .colour = own,
                            .markers = evaluated && values.count() <= 60,
                            .points = values.points()});
  }
}

void keep(std::vector<CurveChart>& charts, CurveChart chart) {
  if (!chart.curves.empty()) charts.push_back(std::move(chart));
}

// The metric that all runs have there; none where they differ.
std::optional<Metric> common_metric(const std::vector<RunFiles>& runs,
                                    std::optional<Metric> RunMetrics::*of) {
  std::optional<Metric> metric;
  for (const RunFiles& run : runs) {
    if (!(run.metrics.*of)) continue;
    if (metric && metric != run.metrics.*of) return {};
    metric = run.metrics.*of;
  }
  return metric;
}

CurveChart chart_of(std::string title, std::string description, std::string unit,
                    std::string (*text)(double)) {
  return {.title = std::move(title),
          .description = std::move(description),
          .x_unit = "epoch",
          .unit = std::move(unit),
          .text = text};
}

// Without curves.
CurveChart metric_chart(Metric metric, const char* what) {
  std::string title(name(metric));
  title[0] = static_cast<char>(std::toupper(title[0]));
  bool share = metric == Metric::accuracy;
  CurveChart chart = chart_of(title, title + what, metric == Metric::psnr ? "dB" : "",
                              share ? share_axis_text : plain_text);
  chart.may_be_logarithmic = metric == Metric::perplexity || metric == Metric::rmse;
  return chart;
}

CurveChart task_metric_chart(const std::vector<RunFiles>& runs, Metric metric) {
  CurveChart chart = metric_chart(metric, " of the batches and of evaluations.");
  add_curves(
      chart, runs, "train", [](const RunMetrics& m) -> const ThinCurve& { return m.train_metric; },
      false);
  add_curves(
      chart, runs, nullptr, [](const RunMetrics& m) -> const ThinCurve& { return m.val_metric; },
      true);
  return chart;
}

}  // namespace

std::vector<CurveChart> learning_charts(const std::vector<RunFiles>& runs) {
  std::vector<CurveChart> charts;
  CurveChart loss = chart_of("Loss", "Loss of the batches and of evaluations.", "", plain_text);
  loss.may_be_logarithmic = true;
  add_curves(
      loss, runs, "train", [](const RunMetrics& m) -> const ThinCurve& { return m.train_loss; },
      false);
  add_curves(
      loss, runs, nullptr, [](const RunMetrics& m) -> const ThinCurve& { return m.val_loss; },
      true);
  keep(charts, std::move(loss));
  if (auto metric = common_metric(runs, &RunMetrics::metric))
    keep(charts, task_metric_chart(runs, *metric));
  if (auto decides = common_metric(runs, &RunMetrics::best_by)) {
    CurveChart chart = metric_chart(*decides, " of evaluations, by which the best is chosen.");
    add_curves(
        chart, runs, nullptr, [](const RunMetrics& m) -> const ThinCurve& { return m.decides; },
        true);
    keep(charts, std::move(chart));
  }
  CurveChart lr = chart_of("Learning rate", "Learning rate of the steps.", "", plain_text);
  lr.from_zero = true;
  add_curves(
      lr, runs, "", [](const RunMetrics& m) -> const ThinCurve& { return m.lr; }, false);
  keep(charts, std::move(lr));
  CurveChart norm =
      chart_of("Gradient norm", "Norm of the gradient before clipping.", "", plain_text);
  norm.from_zero = norm.may_be_logarithmic = true;
  add_curves(
      norm, runs, "", [](const RunMetrics& m) -> const ThinCurve& { return m.grad_norm; }, false);
  keep(charts, std::move(norm));
  CurveChart speed = chart_of("Throughput", "Training samples per second.", "samples/s", rate_text);
  speed.from_zero = true;
  add_curves(
      speed, runs, "", [](const RunMetrics& m) -> const ThinCurve& { return m.samples_per_s; },
      false);
  keep(charts, std::move(speed));
  return charts;
}

CurveChart time_chart(const RunFiles& run) {
  // Of svg_marks.h, one per part: as in the report of a benchmark.
  static constexpr std::array colours = {4, 6, 0, 5, 1, 2, 3, 7};
  CurveChart chart = chart_of("Time of a step",
                              "Milliseconds of each part of a step, means over neighbouring steps.",
                              "ms per step", plain_text);
  chart.stacked = true;
  for (size_t part = 0; part < step_parts.size(); ++part) {
    const ThinCurve& values = run.metrics.times[part];
    auto points = values.points();
    bool any = std::ranges::any_of(points, [](const CurvePoint& point) { return point.high > 0; });
    for (CurvePoint& point : points) point.y = std::isfinite(point.y) ? point.y : 0;
    if (any)
      chart.curves.push_back({.label = std::string(step_parts[part].name),
                              .colour = colours[part],
                              .points = std::move(points)});
  }
  return chart;
}

std::vector<CurveChart> device_charts(const RunFiles& run) {
  struct Row {
    const char *title, *description, *unit;
    std::string (*text)(double);
    ThinCurve DeviceCurves::*values;
    double scale;
  };
  constexpr double gib = 1.0 / (1 << 30);
  const std::array rows = {
      Row{"Arrival", "When each device had the gradients of its towers, from the step's beginning.",
          "ms", plain_text, &DeviceCurves::arrival_ms, 1},
      Row{"Busy", "Share of time in which each device worked.", "", share_axis_text,
          &DeviceCurves::busy, 1},
      Row{"Memory in use",
          "Of a GPU by all processes; of a CPU device what its process has in RAM as a whole.",
          "GiB", gib_text, &DeviceCurves::memory_used, gib},
      Row{"Temperature", "Temperature of each device.", "°C", plain_text, &DeviceCurves::celsius,
          1},
      Row{"Power", "Power that each device draws.", "W", plain_text, &DeviceCurves::watts, 1},
      Row{"Clock", "Clock of each device.", "MHz", plain_text, &DeviceCurves::clock_mhz, 1}};
  std::vector<CurveChart> charts;
  for (const Row& row : rows) {
    CurveChart chart = chart_of(row.title, row.description, row.unit, row.text);
    chart.from_zero = row.values != &DeviceCurves::celsius;
    int colour = 0;
    for (const auto& [name, device] : run.metrics.devices) {
      auto points = (device.*row.values).points();
      for (CurvePoint& point : points) {
        point.y *= row.scale;
        point.low *= row.scale;
        point.high *= row.scale;
      }
      if (!points.empty())
        chart.curves.push_back({.label = name, .colour = colour, .points = std::move(points)});
      ++colour;
    }
    keep(charts, std::move(chart));
  }
  return charts;
}

BarChart memory_chart(const RunFiles& run) {
  BarChart chart{.title = "Memory",
                 .description = "Bytes on the devices by kind: planned, and the most in use.",
                 .unit = "MiB",
                 .text = plain_text};
  if (!run.summary) return chart;
  const auto& planned = run.summary->planned_memory;
  const auto& peak = run.summary->peak_memory;
  for (const auto& [kind, bytes] : planned) {
    chart.colours.push_back(static_cast<int>(chart.parts.size()));
    chart.parts.push_back(kind);
  }
  auto add = [&](const char* label, const std::map<std::string, int64_t>& kinds) {
    StackedBar bar{.group = "", .label = label};
    int64_t total = 0;
    for (const std::string& kind : chart.parts) {
      auto found = kinds.find(kind);
      int64_t bytes = found == kinds.end() ? 0 : std::max<int64_t>(found->second, 0);
      total += bytes;
      bar.parts.push_back(static_cast<double>(bytes) / (1 << 20));
      bar.titles.push_back(fmt::format("{}: {}: {}", label, kind, bytes_text(bytes)));
    }
    bar.total = bytes_text(total);
    chart.bars.push_back(std::move(bar));
  };
  if (!planned.empty() && !peak.empty()) {
    add("planned", planned);
    add("peak", peak);
  }
  return chart;
}

}  // namespace spire::inline run_page
