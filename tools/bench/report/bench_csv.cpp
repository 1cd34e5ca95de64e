#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "engine/observe/records.h"
#include "tools/bench/report/bench_files.h"

namespace spire {
namespace {

using CsvColumn = std::pair<std::string, std::string>;  // heading, and what a row has

// Kinds of memory that any round has: each is a column.
struct MemoryColumns {
  std::set<std::string> peak, planned;
};

MemoryColumns memory_columns(const BenchReport& report) {
  MemoryColumns columns;
  for (const Point& point : report.points)
    for (const Measurement& round : point.rounds) {
      for (const auto& [kind, bytes] : round.peak_memory) columns.peak.insert(kind);
      for (const auto& [kind, bytes] : round.planned_memory) columns.planned.insert(kind);
    }
  return columns;
}

std::string known(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

std::string bytes_of(const MemoryOfKinds& memory, const std::string& kind) {
  auto found = memory.find(kind);
  return found == memory.end() ? "" : fmt::format("{}", found->second);
}

std::vector<CsvColumn> variant_columns_of(const std::string& model, const Variant& variant) {
  return {{"model", model},
          {"scaling", std::string(word_of(variant.scaling))},
          {"kind", std::string(word_of(variant.kind))},
          {"devices", fmt::format("{}", variant.devices)},
          {"processes", fmt::format("{}", variant.processes)},
          {"towers", fmt::format("{}", variant.towers)},
          {"precision", std::string(word_of(variant.precision))},
          {"strategy", std::string(word_of(variant.strategy))}};
}

std::vector<CsvColumn> figure_columns(const Measurement& round, const MemoryColumns& kinds) {
  std::vector<CsvColumn> columns = {
      {"samples_per_s", fmt::format("{}", round.samples_per_s)},
      {"step_seconds", fmt::format("{}", round.step_seconds)},
      {"first_step_seconds", fmt::format("{}", round.first_step_seconds)},
      {"parameter_hash", round.parameter_hash},
      {"joules", known(round.joules)},
      {"others_cores", known(round.others_cores)},
      {"peak_rss", fmt::format("{}", round.peak_rss)}};
  for (const StepPart& part : step_parts)
    columns.emplace_back(fmt::format("{}_seconds", part.name),
                         fmt::format("{}", round.times.*part.seconds));
  for (const std::string& kind : kinds.peak)
    columns.emplace_back("peak_" + kind, bytes_of(round.peak_memory, kind));
  for (const std::string& kind : kinds.planned)
    columns.emplace_back("planned_" + kind, bytes_of(round.planned_memory, kind));
  return columns;
}

// round: counts from 1; 0: the point could not run, and has no figures.
std::vector<CsvColumn> columns_of(const std::string& model, const Point& point, size_t round,
                                  const MemoryColumns& kinds) {
  std::vector<CsvColumn> columns = variant_columns_of(model, point.variant);
  columns.emplace_back("round", round > 0 ? fmt::format("{}", round) : "");
  columns.emplace_back("error", point.error);
  for (CsvColumn& column :
       figure_columns(round > 0 ? point.rounds[round - 1] : Measurement{}, kinds))
    columns.emplace_back(column.first, round > 0 ? column.second : "");
  return columns;
}

std::string line_of(const std::vector<CsvColumn>& columns, std::string CsvColumn::*part) {
  std::vector<std::string> cells;
  for (const CsvColumn& column : columns) cells.push_back(column.*part);
  return csv_line(cells);
}

}  // namespace

std::string bench_csv(const BenchReport& report) {
  MemoryColumns kinds = memory_columns(report);
  std::string text = line_of(columns_of("", {}, 0, kinds), &CsvColumn::first);
  for (const Point& point : report.points) {
    size_t last = point.rounds.size();
    for (size_t round = last > 0 ? 1 : 0; round <= last; ++round)
      text += line_of(columns_of(report.model, point, round, kinds), &CsvColumn::second);
  }
  return text;
}

}  // namespace spire
