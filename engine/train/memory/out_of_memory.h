// Error message for a device with too little memory: the shortage, one remedy, and a table.
#pragma once
#include <string>

#include "engine/device/memory_pool.h"

namespace spire {

// Facts of the run that decide which remedy is named.
struct MemoryRemedies {
  int64_t batch_size = 1;         // samples per tower
  int devices = 1;                // devices of the run
  bool sharded = false;           // strategy: sharded
  bool can_skip_snapshot = true;  // checkpoints can be written without a copy of the state
  bool can_recompute = false;     // memory.recompute: blocks is not set, and the model has blocks
};

// Returns the change of the config that the numbers suggest: "set memory.recompute: blocks, ...".
std::string remedy(const MemoryShortage& shortage, const MemoryRemedies& remedies);

// Returns a line with shortage and remedy, then a table: kind of memory, planned, in use.
std::string out_of_memory_text(const MemoryShortage& shortage, const MemoryRemedies& remedies);

}  // namespace spire
