// Predictions as tables for people.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "tools/bench/prediction/prediction.h"
#include "tools/bench/report/bench_table.h"

namespace spire {
namespace {

bool is_base(const Variant& variant) {
  return variant.devices == 1 && variant.processes == 1;
}

Reduction reduction_of(const RunConfig& config) {
  return config.reduction == RunConfig::Reduction::native ? Reduction::native
                                                          : Reduction::invariant;
}

const Ceilings& ceilings_of(const BenchReport& report, Kind kind) {
  auto found = std::ranges::find_if(report.ceilings, [&](const Ceilings& ceilings) {
    return ceilings.kind == kind && ceilings.devices == 1;
  });
  require(found != report.ceilings.end(), "no ceilings of one device");
  return *found;
}

std::string bandwidth_text(double seconds_a_byte) {
  return seconds_a_byte > 0 ? fmt::format("{:g} GB/s", 1e-9 / seconds_a_byte) : "no limit";
}

std::string assumptions(const StepProfile& profile, const CommunicationModel& model) {
  const Link& link = model.link;
  std::string text = fmt::format(
      "from one measured device ({}): {:.1f} samples/s, forward {} ms, backward {} ms, update {} "
      "ms\n"
      "link {}: {:g} us a message, {} each way; {} of sums\n",
      to_text(profile.variant), profile.samples_per_s(), ms_text(profile.times.forward),
      ms_text(profile.times.backward), ms_text(profile.times.update), link.name, 1e6 * link.alpha,
      bandwidth_text(link.beta), bandwidth_text(model.gamma));
  text += fmt::format(
      "assumed: {} of {:.1f} MiB in all, exchanged {} backward; equal devices, each with a link of "
      "its own; data as fast as needed\n",
      counted(static_cast<int64_t>(profile.buckets.size()), "bucket"),
      profile.buckets.empty() ? 0.0 : static_cast<double>(profile.buckets.back().end) / (1 << 18),
      model.overlaps ? "during" : "after");
  return text;
}

bool is_predicted(const Variant& variant, const StepProfile& profile) {
  bool same_towers = variant.scaling == Scaling::weak
                         ? variant.towers == profile.variant.towers * variant.devices
                         : variant.towers == profile.variant.towers;
  return variant.kind == Kind::cpu && variant.devices > 1 && same_towers &&
         variant.precision == profile.variant.precision &&
         variant.strategy == profile.variant.strategy;
}

}  // namespace

std::string to_text(const StepProfile& profile, const CommunicationModel& model,
                    const std::vector<PredictedPoint>& points) {
  TextTable table = {
      {"scaling", "devices", "towers", "samples/s", "efficiency", "step, ms", "exposed, ms"}};
  for (const PredictedPoint& point : points) {
    std::vector<std::string> row = {std::string(word_of(point.scaling)),
                                    std::to_string(point.devices), std::to_string(point.towers)};
    if (point.error.empty()) {
      row.insert(row.end(),
                 {fmt::format("{:.1f}", point.samples_per_s), percent_text(point.efficiency),
                  ms_text(point.step_seconds), ms_text(point.exposed_seconds)});
    } else {
      row.push_back(point.error);
    }
    table.push_back(row);
  }
  return "predicted scaling: model, not measured\n" + assumptions(profile, model) +
         aligned_text(table);
}

std::string compare_with_measured(const StepProfile& profile, CommunicationModel model,
                                  std::span<const Point> points) {
  TextTable table = {{"run", "model, samples/s", "measured", "model : measured"}};
  for (const Point& point : points) {
    const Variant& variant = point.variant;
    if (point.rounds.empty() || !is_predicted(variant, profile)) continue;
    model.devices_per_member = variant.devices / variant.processes;
    PredictedPoint predicted = predict(profile, model, variant.scaling, variant.devices);
    double measured = median(speeds_of(point));
    table.push_back({to_text(variant), fmt::format("{:.1f}", predicted.samples_per_s),
                     fmt::format("{:.1f}", measured),
                     fmt::format("{:.3f}", predicted.samples_per_s / measured)});
  }
  if (table.size() == 1) return "the model was not compared: no run on several CPU devices\n";
  return "the model beside what was measured\n" + aligned_text(table);
}

ScalingPrediction::ScalingPrediction(std::vector<int64_t> devices, const std::string& link,
                                     const RunConfig& config, const std::vector<Variant>& variants)
    : devices_(std::move(devices)), link_(parse_link(link)), config_(config) {
  if (std::ranges::none_of(variants, is_base))
    fail(Category::config,
         "--predict starts from a run on one device in one process; add 1 to --counts and to "
         "--processes");
}

std::vector<ModelledPoint> ScalingPrediction::predict(const BenchReport& report) {
  std::vector<ModelledPoint> modelled;
  std::optional<Link> local;  // between processes of this host
  for (const Point& point : report.points) {
    const Variant& variant = point.variant;
    if (!is_base(variant) || point.rounds.empty()) continue;
    const Ceilings& ceilings = ceilings_of(report, variant.kind);
    StepProfile profile = profile_of(config_, variant, median_round(point), ceilings);
    CommunicationModel model{.link = link_,
                             .gamma = gamma_of(ceilings),
                             .strategy = variant.strategy,
                             .reduction = reduction_of(config_),
                             .overlaps = variant.kind == Kind::cuda};
    std::vector<PredictedPoint> points;
    for (int64_t devices : devices_)
      points.push_back(spire::predict(profile, model, variant.scaling, devices));
    text_ += to_text(profile, model, points);
    std::string label = fmt::format("{}, {}, {}", word_of(variant.precision),
                                    word_of(variant.strategy), link_.name);
    for (const PredictedPoint& predicted : points)
      if (predicted.error.empty())
        modelled.push_back({variant.scaling, predicted.devices, predicted.samples_per_s, label});
    if (variant.kind != Kind::cpu) continue;
    if (!local) local = measure_local_link();
    model.link = *local;
    text_ += compare_with_measured(profile, model, report.points);
  }
  return modelled;
}

}  // namespace spire
