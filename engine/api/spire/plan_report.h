// Plans a run without training: the memory that it would allocate, and the layers of its model.
#pragma once
#include <string>
#include <vector>

#include <spire/layer_row.h>
#include <spire/observer.h>
#include <spire/run_config.h>

namespace spire {

struct PlanReport {
  StartInfo start;
  std::vector<LayerRow> layers;  // of a tower's step: start.batch_size samples
  // The message of train() for a plan that does not fit a device or memory.limit; empty: it fits,
  // as far as can be known without allocating.
  std::string shortage;
  std::vector<std::string> warnings;  // about the data and the config, as train() gives them
};

// Compiles the run's plan without allocating its memory. Throws the errors that train() throws
// before its first step, but not out_of_memory: that is the report's shortage.
PlanReport plan(const RunConfig& config);

// Does the same, and throws Error(out_of_memory) for a shortage.
PlanReport check(const RunConfig& config);

// Writes the table of layers, the multiply-adds of a sample, then the start block.
std::string to_text(const PlanReport& report);

}  // namespace spire
