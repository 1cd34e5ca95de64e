// Plans a run without training: the memory that it would allocate, and the layers of its model.
#pragma once
#include <string>
#include <vector>

#include <spire/export.h>
#include <spire/graph.h>
#include <spire/observer.h>
#include <spire/run_config.h>

namespace spire {

struct PlanReport {
  StartInfo start;
  std::vector<LayerRow> layers;  // for one tower's batch: start.batch_size samples
  // The message with which train() would refuse a plan that exceeds a device's memory or
  // memory.limit; empty if it fits, as far as can be known without allocating.
  std::string shortage;
  std::vector<std::string> warnings;  // that train() would give about data and config
};

// Compiles the plan of the run, as one process, without allocating its memory. Throws the errors
// that train() throws before its first step, except out_of_memory: PlanReport::shortage has that
// message.
SPIRE_API PlanReport plan(const RunConfig& config);

// The same as plan(), but throws Error(out_of_memory) if there is a shortage.
SPIRE_API PlanReport check(const RunConfig& config);

// Returns the table of layers, the multiply-adds per sample and the facts of `start`.
SPIRE_API std::string to_text(const PlanReport& report);

}  // namespace spire
