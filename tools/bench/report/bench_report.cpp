#include "tools/bench/report/bench_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/records.h"

namespace spire {
namespace {

using Precision = RunConfig::Precision;

// Raises each kind of `most` to what `memory` has of it.
void raise(MemoryOfKinds& most, const MemoryOfKinds& memory) {
  for (const auto& [kind, bytes] : memory) most[kind] = std::max(most[kind], bytes);
}

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

// Returns the hashes of the strong points that ran on one kind of device: bits are promised there.
std::vector<std::string> strong_hashes(const BenchReport& report, Kind kind, Precision precision) {
  std::vector<std::string> hashes;
  for (const Point& point : report.points)
    if (point.variant.scaling == Scaling::strong && point.variant.kind == kind &&
        point.variant.precision == precision && !point.rounds.empty())
      hashes.push_back(common_hash(point));
  return hashes;
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

PointMemory memory_of(const Point& point) {
  PointMemory memory;
  for (const Measurement& round : point.rounds) {
    memory.rss = std::max(memory.rss, round.peak_rss);
    raise(memory.peak, round.peak_memory);
    raise(memory.planned, round.planned_memory);
  }
  return memory;
}

int64_t total_bytes(const MemoryOfKinds& memory) {
  int64_t total = 0;
  for (const auto& [kind, bytes] : memory) total += bytes;
  return total;
}

double median(std::vector<double> values) {
  require(!values.empty(), "median: no values");
  std::ranges::sort(values);
  size_t upper = values.size() / 2;
  return values.size() % 2 == 1 ? values[upper] : (values[upper - 1] + values[upper]) / 2;
}

std::vector<double> speeds_of(const Point& point) {
  std::vector<double> speeds;
  for (const Measurement& round : point.rounds) speeds.push_back(round.samples_per_s);
  return speeds;
}

const Measurement& median_round(const Point& point) {
  require(!point.rounds.empty(), "median_round: no rounds");
  std::vector<const Measurement*> rounds;
  for (const Measurement& round : point.rounds) rounds.push_back(&round);
  std::ranges::stable_sort(rounds, {}, &Measurement::samples_per_s);
  return *rounds[(rounds.size() - 1) / 2];
}

std::optional<bool> same_bits(const BenchReport& report, Precision precision) {
  std::optional<bool> same;
  if (report.reduction != RunConfig::Reduction::invariant) return same;
  for (Kind kind : {Kind::cpu, Kind::cuda}) {
    auto hashes = strong_hashes(report, kind, precision);
    if (hashes.size() < 2) continue;
    same = same.value_or(true) && !hashes[0].empty() &&
           std::ranges::count(hashes, hashes[0]) == std::ssize(hashes);
  }
  return same;
}

std::string tick_of(const BenchReport& report, const Point& point) {
  const Variant& variant = point.variant;
  if (report.reduction != RunConfig::Reduction::invariant || point.rounds.empty() ||
      variant.scaling != Scaling::strong)
    return "";
  auto hashes = strong_hashes(report, variant.kind, variant.precision);
  if (hashes.size() < 2) return "";
  return !hashes[0].empty() && hashes[0] == common_hash(point) ? "✓" : "✗";
}

}  // namespace spire
