#include "tools/bench/report/bench_csv.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "engine/observe/step_times.h"
#include "tools/bench/report/rounds.h"

namespace spire {
namespace {

using Row = std::vector<std::string>;

void add_kinds(Row& kinds, const BytesByKind& memory) {
  for (const auto& [kind, bytes] : memory)
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
}

// Kinds of memory in order of first appearance: each has a column.
struct MemoryColumns {
  Row peak, planned;
};

MemoryColumns memory_columns(const BenchReport& report) {
  MemoryColumns columns;
  for (const Point& point : report.points)
    for (const Measurement& round : point.rounds) {
      add_kinds(columns.peak, round.peak_memory);
      add_kinds(columns.planned, round.planned_memory);
    }
  return columns;
}

Row heading(const MemoryColumns& columns) {
  Row row = {"model",
             "scaling",
             "kind",
             "devices",
             "processes",
             "towers",
             "precision",
             "strategy",
             "round",
             "error",
             "samples_per_s",
             "step_seconds",
             "first_step_seconds",
             "parameter_hash",
             "joules",
             "others_cores",
             "peak_rss"};
  for (const StepPart& part : step_parts) row.push_back(fmt::format("{}_seconds", part.name));
  for (const std::string& kind : columns.peak) row.push_back("peak_" + kind);
  for (const std::string& kind : columns.planned) row.push_back("planned_" + kind);
  return row;
}

Row variant_fields(const std::string& model, const Variant& variant) {
  return {model,
          std::string(word_of(variant.scaling)),
          std::string(word_of(variant.kind)),
          fmt::format("{}", variant.devices),
          fmt::format("{}", variant.processes),
          fmt::format("{}", variant.towers),
          std::string(word_of(variant.precision)),
          std::string(word_of(variant.strategy))};
}

void add_memory(Row& row, const BytesByKind& memory, const Row& kinds) {
  for (const std::string& kind : kinds) {
    auto bytes = bytes_of(memory, kind);
    row.push_back(bytes ? fmt::format("{}", *bytes) : "");
  }
}

std::string known(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

void add_figures(Row& row, const Measurement& round, const MemoryColumns& columns) {
  row.insert(row.end(),
             {fmt::format("{}", round.samples_per_s), fmt::format("{}", round.step_seconds),
              fmt::format("{}", round.first_step_seconds), round.parameter_hash,
              known(round.joules), known(round.others_cores), fmt::format("{}", round.peak_rss)});
  for (const StepPart& part : step_parts)
    row.push_back(fmt::format("{}", round.times.*part.seconds));
  add_memory(row, round.peak_memory, columns.peak);
  add_memory(row, round.planned_memory, columns.planned);
}

}  // namespace

std::string bench_csv(const BenchReport& report) {
  MemoryColumns columns = memory_columns(report);
  Row names = heading(columns);
  std::string text = csv_line(names);
  for (const Point& point : report.points) {
    Row variant = variant_fields(report.model, point.variant);
    for (size_t i = 0; i < point.rounds.size(); ++i) {
      Row row = variant;
      row.insert(row.end(), {fmt::format("{}", i + 1), point.error});
      add_figures(row, point.rounds[i], columns);
      text += csv_line(row);
    }
    if (!point.rounds.empty()) continue;
    variant.insert(variant.end(), {"", point.error});
    variant.resize(names.size());
    text += csv_line(variant);
  }
  return text;
}

}  // namespace spire
