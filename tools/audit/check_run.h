// Compares what a run has recorded: its chain with its checkpoints, metrics and summary, without a
// replay.
#pragma once
#include <string>
#include <vector>

#include "engine/observe/metrics_lines.h"
#include "tools/audit/audit_log.h"
#include "tools/audit/check_numbers.h"
#include "tools/compare/compare_runs.h"

namespace spire {

struct RunCheck {
  // Sentences about what does not fit: lines of the chain, values of metrics.jsonl and
  // summary.json, checkpoints that are damaged, of another step or run, or whose weights, config or
  // names are not those of the chain.
  std::vector<std::string> problems;
  int64_t checkpoints = 0, metrics = 0;  // how many fit
};
// lines: of metrics.jsonl, with their index_of().
RunCheck check_run(const AuditLog& log, const RunRecords& run,
                   const std::vector<MetricsLine>& lines, const MetricsIndex& index);

}  // namespace spire
