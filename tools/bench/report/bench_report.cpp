#include "tools/bench/report/bench_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/step_times.h"
#include "tools/bench/report/rounds.h"

namespace spire {
namespace {

using Precision = RunConfig::Precision;

// The mean over lanes may leave out or count twice what runs between two steps: `other` takes up
// the difference, and is never negative.
StepTimes filled_up(StepTimes times, double step_seconds) {
  times.other = 0;
  times.other = std::max(0.0, step_seconds - total_of(times));
  return times;
}

// Returns samples/s of one device with the same variant otherwise, in one process.
std::optional<double> speed_of_one(const BenchReport& report, const Variant& variant) {
  for (const Point& point : report.points) {
    const Variant& one = point.variant;
    if (one.devices == 1 && one.processes == 1 && one.scaling == variant.scaling &&
        one.kind == variant.kind && one.precision == variant.precision &&
        one.strategy == variant.strategy && !point.rounds.empty())
      return median(speeds_of(point));
  }
  return std::nullopt;
}

std::optional<double> ceiling_share(const BenchReport& report, const Variant& variant,
                                    double reached) {
  for (const Ceilings& ceilings : report.ceilings) {
    if (ceilings.kind != variant.kind || ceilings.devices != variant.devices) continue;
    double ceiling = flops_per_s(ceilings, variant.precision);
    if (ceiling > 0 && reached > 0) return reached / ceiling;
  }
  return std::nullopt;
}

// Returns the median over the rounds that know the number.
std::optional<double> known_median(const Point& point, std::optional<double> Measurement::*number) {
  std::vector<double> known;
  for (const Measurement& round : point.rounds)
    if (round.*number) known.push_back(*(round.*number));
  return known.empty() ? std::nullopt : std::optional(median(std::move(known)));
}

std::optional<double> joules_per_sample(const BenchReport& report, const Point& point) {
  auto joules = known_median(point, &Measurement::joules);
  double samples = static_cast<double>(report.steps) * static_cast<double>(report.batch_size) *
                   static_cast<double>(point.variant.towers);  // of a round
  return joules && samples > 0 ? std::optional(*joules / samples) : std::nullopt;
}

// Returns the hash that all rounds have; empty if they differ.
std::string common_hash(const Point& point) {
  const std::string& first = point.rounds.front().parameter_hash;
  bool same = std::ranges::all_of(
      point.rounds, [&](const Measurement& round) { return round.parameter_hash == first; });
  return same ? first : "";
}

bool is_strong(const Point& point, Kind kind, Precision precision) {
  return point.variant.scaling == Scaling::strong && point.variant.kind == kind &&
         point.variant.precision == precision && !point.rounds.empty();
}

// The same for the points of one kind of device: bits are promised on devices of one kind.
std::optional<bool> same_bits_on(const BenchReport& report, Kind kind, Precision precision) {
  std::vector<std::string> hashes;
  for (const Point& point : report.points)
    if (is_strong(point, kind, precision)) hashes.push_back(common_hash(point));
  if (hashes.size() < 2) return std::nullopt;
  return !hashes[0].empty() && std::ranges::count(hashes, hashes[0]) == std::ssize(hashes);
}

}  // namespace

std::string to_text(const Variant& variant) {
  return fmt::format("{} {}, {}, {}, {}, {}", variant.devices, word_of(variant.kind),
                     counted(variant.processes, "process"), counted(variant.towers, "tower"),
                     word_of(variant.precision), word_of(variant.strategy));
}

double flops_per_s(const Ceilings& ceilings, Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::exact:  // fp32 work, done in fp64
      return ceilings.fp32_flops_per_s;
    case Precision::bf16:
      return ceilings.bf16_flops_per_s;
    case Precision::fp16:
      return ceilings.fp16_flops_per_s;
  }
  fail(Category::unexpected, "unknown precision");
}

PointFigures figures_of(const BenchReport& report, const Point& point) {
  PointFigures figures;
  if (point.rounds.empty()) return figures;
  std::vector<double> speeds = speeds_of(point);
  figures.samples_per_s = median(speeds);
  figures.slowest = std::ranges::min(speeds);
  figures.fastest = std::ranges::max(speeds);
  if (auto one = speed_of_one(report, point.variant); one && *one > 0)
    figures.efficiency =
        figures.samples_per_s / (*one * static_cast<double>(point.variant.devices));
  figures.flops_per_s = figures.samples_per_s * report.flops_per_sample;
  figures.ceiling_share = ceiling_share(report, point.variant, figures.flops_per_s);
  figures.joules_per_sample = joules_per_sample(report, point);
  figures.others_cores = known_median(point, &Measurement::others_cores);
  const Measurement& typical = median_round(point);
  figures.step_seconds = typical.step_seconds;
  figures.times = filled_up(typical.times, typical.step_seconds);
  figures.parameter_hash = common_hash(point);
  return figures;
}

std::optional<bool> same_bits(const BenchReport& report, Precision precision) {
  std::optional<bool> same;
  if (report.reduction != RunConfig::Reduction::invariant) return same;
  for (Kind kind : {Kind::cpu, Kind::cuda})
    if (auto on_kind = same_bits_on(report, kind, precision))
      same = same.value_or(true) && *on_kind;
  return same;
}

}  // namespace spire
