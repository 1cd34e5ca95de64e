// What a run says when a device has too little memory: what lacks, a table, and one thing to do.
#pragma once
#include <string>

#include "engine/device/memory_pool.h"

namespace spire::inline training {

// What of the run decides which remedy there is.
struct MemoryRemedies {
  int64_t batch_size = 1;         // samples a tower
  int devices = 1;                // of the run
  int sharers = 1;                // logical devices on the one that is short
  bool sharded = false;           // strategy
  bool can_skip_snapshot = true;  // checkpoints may be written from the state itself
  bool can_recompute = false;     // memory.recompute: blocks is not set, and the model has blocks
};

// The one remedy, chosen by the numbers: "set memory.recompute: blocks, ...".
std::string remedy(const MemoryShortage& shortage, const MemoryRemedies& remedies);

// A line with the shortage and the remedy, then a table: kind, planned, in use.
std::string out_of_memory_text(const MemoryShortage& shortage, const MemoryRemedies& remedies);

}  // namespace spire::inline training
