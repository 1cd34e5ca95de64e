// Compares what a run has recorded: its chain with its checkpoints and metrics, without a replay.
#pragma once
#include <string>
#include <vector>

#include "engine/run/audit/audit_log.h"
#include "engine/run/compare/compare_runs.h"

namespace spire::inline run {

struct RunCheck {
  // Sentences about what does not fit: lines of the chain, values of metrics.jsonl, checkpoints
  // that are damaged, of another step or run, or whose weights are not those of the chain.
  std::vector<std::string> problems;
  int64_t checkpoints = 0, metrics = 0;  // how many fit
};
RunCheck check_run(const AuditLog& log, const RunRecords& run);

}  // namespace spire::inline run
