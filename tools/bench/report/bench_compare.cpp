#include "tools/bench/report/bench_compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "tools/bench/report/bench_table.h"

namespace spire {
namespace {

// Returns the point of a variant if it ran.
const Point* find_point(const BenchReport& report, const Variant& variant) {
  auto found = std::ranges::find_if(report.points, [&](const Point& point) {
    return point.variant == variant && !point.rounds.empty();
  });
  return found == report.points.end() ? nullptr : &*found;
}

std::optional<double> ratio_of(int64_t second, int64_t first) {
  if (first <= 0 || second <= 0) return std::nullopt;
  return static_cast<double>(second) / static_cast<double>(first);
}

// Speeds may be those of a damaged file: none also where a ratio would not be finite.
std::optional<SpeedRatio> speed_ratio(const PointFigures& first, const PointFigures& second) {
  if (first.slowest <= 0 || second.slowest <= 0) return std::nullopt;
  SpeedRatio ratio{.medians = second.samples_per_s / first.samples_per_s,
                   .smallest = second.slowest / first.fastest,
                   .largest = second.fastest / first.slowest};
  bool finite = std::isfinite(ratio.medians) && std::isfinite(ratio.largest);
  return finite ? std::optional(ratio) : std::nullopt;
}

PointRatios ratios_of(const BenchReport& first_report, const Point& first,
                      const BenchReport& second_report, const Point& second) {
  PointFigures a = figures_of(first_report, first), b = figures_of(second_report, second);
  PointMemory memory_a = memory_of(first), memory_b = memory_of(second);
  return {.variant = first.variant,
          .rounds = std::min(first.rounds.size(), second.rounds.size()),
          .speed = speed_ratio(a, b),
          .rss = ratio_of(memory_b.rss, memory_a.rss),
          .device_memory = ratio_of(total_bytes(memory_b.peak), total_bytes(memory_a.peak))};
}

std::string machine_text(const Machine& machine) {
  return fmt::format(
      "{}, {}, {} cores, {}, GPUs: {}", machine.host, machine.cpu, machine.cores,
      machine.instructions,
      machine.gpus.empty() ? "none" : fmt::format("{}", fmt::join(machine.gpus, ", ")));
}

std::vector<std::string> differences_of(const BenchReport& first, const BenchReport& second) {
  std::vector<std::string> differences;
  auto compare = [&](const char* name, const auto& a, const auto& b) {
    if (a != b) differences.push_back(fmt::format("{}: {} and {}", name, a, b));
  };
  compare("machine", machine_text(first.machine), machine_text(second.machine));
  compare("model", first.model, second.model);
  compare("parameters", first.parameters, second.parameters);
  compare("samples per tower", first.batch_size, second.batch_size);
  compare("reduction", word_of(first.reduction), word_of(second.reduction));
  compare("data", first.data, second.data);
  compare("timed steps", first.steps, second.steps);
  if (first.config != second.config) differences.emplace_back("config: the YAML differs");
  return differences;
}

void add_lonely(std::vector<Variant>& lonely, const BenchReport& report, const BenchReport& other) {
  for (const Point& point : report.points)
    if (!point.rounds.empty() && !find_point(other, point.variant)) lonely.push_back(point.variant);
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.3f}", ratio);
}

std::string pairs_text(const SpeedRatio& speed) {
  return fmt::format("{} to {}", ratio_text(speed.smallest), ratio_text(speed.largest));
}

// scaling and variant, figures of A and B, ratios.
TextTable ratio_table(const BenchReport& first, const BenchReport& second,
                      const std::vector<PointRatios>& points) {
  TextTable table = {{"scaling", "variant", "A samples/s", "B samples/s", "B/A", "pairs of rounds",
                      "RSS B/A", "device memory B/A", "B is"}};
  for (const PointRatios& point : points) {
    auto speed = [&](const BenchReport& report) {
      return figure_text(figures_of(report, *find_point(report, point.variant)).samples_per_s);
    };
    table.push_back({std::string(word_of(point.variant.scaling)), to_text(point.variant),
                     speed(first), speed(second),
                     point.speed ? ratio_text(point.speed->medians) : "-",
                     point.speed ? pairs_text(*point.speed) : "-", if_known(point.rss, ratio_text),
                     if_known(point.device_memory, ratio_text), verdict_of(point)});
  }
  return table;
}

std::string lonely_lines(const char* name, const std::vector<Variant>& variants) {
  std::string lines;
  for (const Variant& variant : variants)
    lines += fmt::format("only in {}: {} scaling, {}\n", name, word_of(variant.scaling),
                         to_text(variant));
  return lines;
}

}  // namespace

ReportComparison compared(const BenchReport& first, const BenchReport& second) {
  ReportComparison result{.differences = differences_of(first, second),
                          .points = {},
                          .only_first = {},
                          .only_second = {}};
  for (const Point& point : first.points) {
    const Point* other = find_point(second, point.variant);
    if (!point.rounds.empty() && other)
      result.points.push_back(ratios_of(first, point, second, *other));
  }
  add_lonely(result.only_first, first, second);
  add_lonely(result.only_second, second, first);
  return result;
}

std::string verdict_of(const PointRatios& ratios) {
  if (!ratios.speed) return "unknown: a speed of 0";
  if (ratios.rounds < 2) return "one round: no spread";
  if (ratios.speed->smallest > 1) return "faster";
  if (ratios.speed->largest < 1) return "slower";
  return "within the spread";
}

std::string compare_reports(const BenchReport& first, const BenchReport& second) {
  ReportComparison result = compared(first, second);
  std::string text;
  auto header = [&](const char* name, const BenchReport& report) {
    text += fmt::format("{}  {}, {}, Spire {}\n", name, report.model, report.date, report.spire);
  };
  header("A", first);
  header("B", second);
  for (const std::string& difference : result.differences)
    text += fmt::format("warning: A and B differ in {}\n", difference);
  text += "\n";
  if (result.points.empty()) text += "no variant ran in both reports\n";
  if (!result.points.empty()) text += aligned_text(ratio_table(first, second, result.points));
  return text + lonely_lines("A", result.only_first) + lonely_lines("B", result.only_second);
}

}  // namespace spire
