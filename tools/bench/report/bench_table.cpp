#include "tools/bench/report/bench_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "engine/base/crowded.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/records.h"

namespace spire {
namespace {

using Row = std::vector<std::string>;

constexpr double largest_count = 1e15;  // written with all digits

Row joined(Row row, const Row& more) {
  row.insert(row.end(), more.begin(), more.end());
  return row;
}

Row variant_cells(const Variant& variant) {
  return {std::string(word_of(variant.scaling)),
          fmt::format("{} {}", variant.devices, word_of(variant.kind)),
          fmt::format("{}", variant.processes),
          fmt::format("{}", variant.towers),
          std::string(word_of(variant.precision)),
          std::string(word_of(variant.strategy))};
}

const Row variant_heading = {"scaling", "devices", "processes", "towers", "precision", "strategy"};

// Kinds of memory of devices that any point has.
Row memory_kinds(const BenchReport& report) {
  std::set<std::string> kinds;
  for (const Point& point : report.points)
    for (const auto& [kind, bytes] : memory_of(point).peak) kinds.insert(kind);
  return {kinds.begin(), kinds.end()};
}

// Median of the seconds from the start of a process to the end of its first step.
double first_step_seconds(const Point& point) {
  std::vector<double> seconds;
  for (const Measurement& round : point.rounds) seconds.push_back(round.first_step_seconds);
  return median(std::move(seconds));
}

Row speed_cells(const BenchReport& report, const Point& point) {
  if (point.rounds.empty()) return {"failed"};
  PointFigures figures = figures_of(report, point);
  std::string hash = figures.parameter_hash.empty() ? "differs" : figures.parameter_hash;
  std::string tick = tick_of(report, point);
  return {figure_text(figures.samples_per_s),
          point.rounds.size() > 1 ? range_text(figures.slowest, figures.fastest) : "-",
          if_known(figures.efficiency, share_text),
          figures.flops_per_s > 0 ? figure_text(figures.flops_per_s / 1e12) : "-",
          if_known(figures.ceiling_share, share_text),
          if_known(figures.joules_per_sample, figure_text),
          if_known(figures.others_cores, figure_text),
          figure_text(first_step_seconds(point)),
          tick.empty() ? hash : hash + " " + tick};
}

Row step_cells(const BenchReport& report, const Point& point) {
  if (point.rounds.empty()) return {"failed"};
  PointFigures figures = figures_of(report, point);
  Row row = {ms_text(figures.step_seconds)};
  for (const StepPart& part : step_parts) row.push_back(ms_text(figures.times.*part.seconds));
  return row;
}

Row memory_cells(const Point& point, const Row& kinds) {
  if (point.rounds.empty()) return {"failed"};
  PointMemory memory = memory_of(point);
  Row row = {bytes_text(memory.rss)};
  for (const std::string& kind : kinds) {
    auto found = memory.peak.find(kind);
    row.push_back(found == memory.peak.end() ? "-" : bytes_text(found->second));
  }
  row.push_back(bytes_text(total_bytes(memory.peak)));
  row.push_back(bytes_text(total_bytes(memory.planned)));
  return row;
}

TextTable ceilings_table(const BenchReport& report) {
  if (report.ceilings.empty()) return {};
  auto known = [](double rate) { return rate > 0 ? scaled_text(rate) : "-"; };
  TextTable table = {
      {"devices", "fp32 FLOP/s", "bf16 FLOP/s", "fp16 FLOP/s", "copy B/s", "all-reduce B/s"}};
  for (const Ceilings& at : report.ceilings)
    table.push_back({fmt::format("{} {}", at.devices, word_of(at.kind)), known(at.fp32_flops_per_s),
                     known(at.bf16_flops_per_s), known(at.fp16_flops_per_s),
                     known(at.copy_bytes_per_s), known(at.all_reduce_bytes_per_s)});
  return table;
}

// Of the variant that had most of it; empty where it was too little to slow one down.
std::string load_note(const BenchReport& report) {
  double most = 0;
  for (const Point& point : report.points)
    most = std::max(most, figures_of(report, point).others_cores.value_or(0));
  auto cores = static_cast<int>(report.machine.cores);
  if (cores == 0 || !crowded(most, cores, cores)) return "";
  return fmt::format(
      "others used up to {:.1f} of {} meanwhile: on cores of its own the model is faster", most,
      counted(cores, "core"));
}

std::vector<std::string> notes_of(const BenchReport& report) {
  std::string bits;
  for (size_t i = 0; i < all_words<RunConfig::Precision>.size(); ++i) {
    auto same = same_bits(report, static_cast<RunConfig::Precision>(i));
    if (same)
      bits += fmt::format("{}{} {}", bits.empty() ? "" : ", ", all_words<RunConfig::Precision>[i],
                          *same ? "✓" : "✗");
  }
  std::vector<std::string> notes;
  if (!bits.empty()) notes.push_back("same bits on every count: " + bits);
  if (std::string load = load_note(report); !load.empty()) notes.push_back(load);
  for (const Point& point : report.points)
    if (!point.error.empty())
      notes.push_back(fmt::format("failed: {} scaling, {}: {}", word_of(point.variant.scaling),
                                  to_text(point.variant), point.error));
  return notes;
}

// Pads the cells of the columns from `first` on, which are ASCII there, to the right edge.
TextTable right_aligned(TextTable table, size_t first, size_t last) {
  for (size_t column = first; column <= last; ++column) {
    size_t width = 0;
    for (const Row& row : table)
      if (column < row.size()) width = std::max(width, row[column].size());
    for (Row& row : table)
      if (column < row.size()) row[column].insert(0, width - row[column].size(), ' ');
  }
  return table;
}

}  // namespace

std::string figure_text(double value) {
  if (!std::isfinite(value)) return "-";
  double size = std::abs(value);
  if (size >= largest_count) return fmt::format("{:.3e}", value);
  if (size >= 999.95) return count_text(std::llround(value));
  if (size >= 99.995) return fmt::format("{:.1f}", value);
  if (size >= 9.9995) return fmt::format("{:.2f}", value);
  if (size >= 0.09995) return fmt::format("{:.3f}", value);
  return fmt::format("{:.3g}", value);
}

std::string ms_text(double seconds) {
  return figure_text(1000 * seconds);
}

std::string scaled_text(double per_s) {
  constexpr std::array units = {"", " K", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; std::abs(per_s) >= 1000 && unit + 1 < units.size(); ++unit) per_s /= 1000;
  return figure_text(per_s) + units[unit];
}

std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f}%", 100 * share) : "-";
}

std::string range_text(double low, double high) {
  return fmt::format("{} to {}", figure_text(low), figure_text(high));
}

BenchTables tables_of(const BenchReport& report) {
  Row kinds = memory_kinds(report);
  BenchTables tables;
  tables.speed = {
      joined(variant_heading, {"samples/s", "range", "efficiency", "TFLOP/s", "of ceiling",
                               "J/sample", "others' cores", "first step, s", "hash"})};
  tables.step = {joined(variant_heading, {"step"})};
  for (const StepPart& part : step_parts) tables.step[0].emplace_back(part.name);
  tables.memory = {
      joined(joined(joined(variant_heading, {"host RSS"}), kinds), {"device memory", "planned"})};
  for (const Point& point : report.points) {
    Row variant = variant_cells(point.variant);
    tables.speed.push_back(joined(variant, speed_cells(report, point)));
    tables.step.push_back(joined(variant, step_cells(report, point)));
    tables.memory.push_back(joined(variant, memory_cells(point, kinds)));
  }
  tables.ceilings = ceilings_table(report);
  tables.notes = notes_of(report);
  return tables;
}

std::vector<std::pair<std::string, std::string>> facts_of(const BenchReport& report) {
  const Machine& machine = report.machine;
  size_t rounds = 0;
  for (const Point& point : report.points) rounds = std::max(rounds, point.rounds.size());
  std::string length =
      fmt::format("{} of {}, after {} of warm-up", counted(static_cast<int64_t>(rounds), "round"),
                  counted(report.steps, "timed step"), counted(report.warmup, "step"));
  std::vector<std::pair<std::string, std::string>> facts = {
      {"model", fmt::format("{}, {} parameters, {} per tower and step", report.model,
                            count_text(report.parameters), counted(report.batch_size, "sample"))},
      {"data", report.data},
      {"timing", length},
      {"processor", fmt::format("{}, {}", machine.cpu, counted(machine.cores, "core"))},
      {"kernels use", machine.instructions},
      {"energy", report.energy}};
  for (const std::string& gpu : machine.gpus) facts.emplace_back("GPU", gpu);
  facts.insert(facts.end(), {{"host", fmt::format("{}, {}", machine.host, machine.system)},
                             {"Spire", report.spire},
                             {"date", report.date},
                             {"command", report.command}});
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

std::string table_text(const BenchReport& report) {
  BenchTables tables = tables_of(report);
  Sections text;
  for (const auto& [title, fact] : facts_of(report)) text.add(title, fact);
  std::string block = text.text();
  auto add = [&](const char* title, const TextTable& table, size_t first, size_t last) {
    if (table.size() < 2) return;
    block += fmt::format("\n{}\n{}", title, aligned_text(right_aligned(table, first, last)));
  };
  size_t hash = tables.speed[0].size() - 1;
  add("speed", tables.speed, variant_columns, hash - 1);
  add("ms per step", tables.step, variant_columns, tables.step[0].size() - 1);
  add("peak memory", tables.memory, variant_columns, tables.memory[0].size() - 1);
  add("ceilings", tables.ceilings, 1, 5);
  if (!tables.notes.empty()) block += "\n";
  for (const std::string& note : tables.notes) block += note + "\n";
  return block;
}

}  // namespace spire
