// Message for a device with too little memory: the shortage, one remedy, and a table.
#pragma once
#include <string>

#include "engine/device/memory_pool.h"

namespace spire::inline training {

// Facts of the run that decide on the remedy.
struct MemoryRemedies {
  int64_t batch_size = 1;         // samples a tower
  int devices = 1;                // of the run
  int sharers = 1;                // logical devices on the one that is short
  bool sharded = false;           // strategy
  bool can_skip_snapshot = true;  // checkpoints may be written from the state itself
  bool can_recompute = false;     // memory.recompute: blocks is not set, and the model has blocks
};

// Returns the change that the numbers suggest: "set memory.recompute: blocks, ...".
std::string remedy(const MemoryShortage& shortage, const MemoryRemedies& remedies);

// Returns a line with the shortage and the remedy, then a table: kind, planned, in use.
std::string out_of_memory_text(const MemoryShortage& shortage, const MemoryRemedies& remedies);

}  // namespace spire::inline training
