// The summary of a run at its end, as summary.json holds it.
#pragma once
#include <string>

#include "engine/run/run_checkpoints.h"
#include "engine/run/run_context.h"
#include "engine/run/run_output.h"

namespace spire::inline run {

// exit: the exit code; stopped_by: see RunSummary; ema_hash: of the averaged weights, or empty.
RunSummary summarize(const RunContext& run, const RunOutput& output,
                     const RunCheckpoints& checkpoints, int exit, const std::string& stopped_by,
                     const std::string& ema_hash);

}  // namespace spire::inline run
