// Compares the numbers that a run has recorded beside its chain with it and with each other: lines
// of metrics.jsonl, evaluations that checkpoints know, summary.json.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/checkpoint/training_state.h"
#include "engine/observe/metrics_lines.h"
#include "tools/audit/audit_log.h"
#include "tools/compare/compare_runs.h"

namespace spire {

using MetricsKey = std::pair<MetricsLine::Kind, int64_t>;  // kind and step
using MetricsIndex = std::map<MetricsKey, const MetricsLine*>;
MetricsIndex index_of(const std::vector<MetricsLine>& lines);  // the first of each key

class NumbersCheck {
 public:
  // index: index_of() these lines. It keeps references.
  NumbersCheck(const AuditLog& log, const RunRecords& run, const std::vector<MetricsLine>& lines,
               const MetricsIndex& index);

  // Call it for each intact checkpoint, by step. They say which lines there must be.
  void take(const StateMetadata& state);

  struct Result {
    std::vector<std::string> problems;  // sentences
    int64_t fit = 0;                    // lines of metrics.jsonl
  };
  Result finish();

 private:
  void check_line(const MetricsLine& line);
  std::string step_problem(const MetricsLine& line) const;
  void check_evaluation(const StateMetadata& state);
  void check_best(const StateMetadata& state);
  void check_missing();
  void check_summary();
  void check_summary_parts(const nlohmann::ordered_json& json, int64_t step);
  void check_summary_data(const nlohmann::ordered_json& json, const std::string& data);
  int64_t lines_every(int64_t step) const;
  void problem(std::string text) { result_.problems.push_back(std::move(text)); }

  const AuditLog& log_;
  const RunRecords& run_;
  const MetricsIndex& lines_;
  std::map<int64_t, StateMetadata> states_;  // of the checkpoints
  Result result_;
};

// The number of that key; none if the line lacks it.
std::optional<double> number_of(const MetricsLine& line, std::string_view key);
// Whether two recorded numbers are the same: bits, where both are finite.
bool same_number(double a, double b);

}  // namespace spire
