// Predictions as tables for people.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/message_words.h"
#include "engine/bench/bench_cells.h"
#include "engine/bench/prediction.h"
#include "engine/config/words.h"
#include "engine/observe/formatting.h"

namespace spire::inline bench {
namespace {

std::string assumptions(const StepProfile& profile, const CommunicationModel& model) {
  const Link& link = model.link;
  std::string text = fmt::format(
      "from one measured device ({}): {:.1f} samples/s, forward {} ms, backward {} ms, update {} "
      "ms\n"
      "link {}: {:g} us a message, {:g} GB/s each way; {:g} GB/s of sums\n",
      to_text(profile.variant), profile.samples_per_s(), ms_text(profile.times.forward),
      ms_text(profile.times.backward), ms_text(profile.times.update), link.name, 1e6 * link.alpha,
      link.beta > 0 ? 1e-9 / link.beta : 0.0, model.gamma > 0 ? 1e-9 / model.gamma : 0.0);
  text += fmt::format(
      "assumed: {} of {:.1f} MiB in all, exchanged {} backward; equal devices, each with a link of "
      "its own; data as fast as needed\n",
      counted(static_cast<int64_t>(profile.buckets.size()), "bucket"),
      profile.buckets.empty() ? 0.0 : static_cast<double>(profile.buckets.back().end) / (1 << 18),
      model.overlaps ? "during" : "after");
  return text;
}

double median_speed(const Point& point) {
  std::vector<double> speeds;
  for (const Measurement& round : point.rounds) speeds.push_back(round.samples_per_s);
  std::ranges::sort(speeds);
  size_t half = speeds.size() / 2;
  return speeds.size() % 2 ? speeds[half] : (speeds[half - 1] + speeds[half]) / 2;
}

bool is_predicted(const Variant& variant, const StepProfile& profile) {
  bool same_towers = variant.scaling == Scaling::weak
                         ? variant.towers == profile.variant.towers * variant.devices
                         : variant.towers == profile.variant.towers;
  return variant.kind == Kind::cpu && variant.devices > 1 && same_towers &&
         variant.precision == profile.variant.precision;
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
    model.strategy = variant.strategy;
    model.devices_per_member = variant.devices / variant.processes;
    PredictedPoint predicted = predict(profile, model, variant.scaling, variant.devices);
    double measured = median_speed(point);
    table.push_back({to_text(variant), fmt::format("{:.1f}", predicted.samples_per_s),
                     fmt::format("{:.1f}", measured),
                     fmt::format("{:.3f}", predicted.samples_per_s / measured)});
  }
  if (table.size() == 1) return "the model was not compared: no run on several CPU devices\n";
  return "the model beside what was measured\n" + aligned_text(table);
}

}  // namespace spire::inline bench
