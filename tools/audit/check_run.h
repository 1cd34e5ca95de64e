// Compares what a run has recorded: its chain with its checkpoints, metrics and summary, without a
// replay.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/checkpoint/training_state.h"
#include "engine/observe/json_lines.h"
#include "tools/audit/audit_log.h"
#include "tools/compare/compare_runs.h"

namespace spire {

struct RunCheck {
  // Sentences about what does not fit: lines of the chain, values of metrics.jsonl and
  // summary.json, checkpoints that are damaged, of another step or run, or whose weights, config or
  // names are not those of the chain.
  std::vector<std::string> problems;
  int64_t checkpoints = 0, metrics = 0;  // how many fit; metrics: lines of metrics.jsonl
};
using MetricsKey = std::pair<MetricsLine::Kind, int64_t>;  // kind and step
using MetricsIndex = std::map<MetricsKey, const MetricsLine*>;
MetricsIndex index_of(const std::vector<MetricsLine>& lines);  // the first of each key

// lines: of metrics.jsonl, with their index_of().
RunCheck check_run(const AuditLog& log, const RunRecords& run,
                   const std::vector<MetricsLine>& lines, const MetricsIndex& index);

// Compares the numbers that a run has recorded outside its chain with the chain and with each
// other: lines of metrics.jsonl, evaluations in checkpoints, summary.json.
class NumbersCheck {
 public:
  // index: index_of() these lines. Adds to `check`. It keeps references.
  NumbersCheck(const AuditLog& log, const RunRecords& run, const std::vector<MetricsLine>& lines,
               const MetricsIndex& index, RunCheck& check);

  // Call it for each intact checkpoint, in the order of steps. Checkpoints say which lines there
  // must be.
  void take(const StateMetadata& state);

  void finish();  // at the end

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
  void problem(std::string text) { check_.problems.push_back(std::move(text)); }

  const AuditLog& log_;
  const RunRecords& run_;
  const MetricsIndex& lines_;
  std::map<int64_t, StateMetadata> states_;  // of the checkpoints
  RunCheck& check_;
};

// Returns whether two recorded numbers are the same: finite ones in all bits; any two that are not
// finite.
bool same_number(double a, double b);

}  // namespace spire
