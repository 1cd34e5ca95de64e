// Who listens to a run that the tool starts.
#pragma once
#include <memory>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "tools/arguments.h"

namespace spire::tool {

// Progress and warnings on stderr as far as --quiet and --log-level let them, results on stdout.
std::unique_ptr<Observer> make_console(const Arguments& arguments, const RunConfig& config);

// The console and, unless it is a dry run, metrics.jsonl and summary.json in the run directory.
std::unique_ptr<Observer> make_observers(const Arguments& arguments, const RunConfig& config);

}  // namespace spire::tool
