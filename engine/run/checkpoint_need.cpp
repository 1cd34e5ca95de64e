#include "engine/run/checkpoint_need.h"

#include <filesystem>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/update/optimizer.h"

namespace spire {

namespace fs = std::filesystem;

CheckpointNeed checkpoint_need(const RunConfig& config, int64_t floats, int64_t frozen,
                               int64_t steps) {
  auto slots = static_cast<int64_t>(slot_count(config.optimizer, config.ema));
  auto bytes = static_cast<uint64_t>(floats + slots * (floats - frozen)) * sizeof(float);
  CheckpointNeed need{.bytes = bytes, .kept = config.checkpoint.keep_last + 1};
  if (int64_t every = config.checkpoint.keep_every_steps; every > 0) need.kept += steps / every;
  CheckpointStore store(fs::path(config.output) / "checkpoints", {});
  for (const CheckpointEntry& entry : store.list()) {
    std::error_code error;
    uintmax_t size = fs::file_size(entry.path, error);
    if (!error) need.there += size;
  }
  return need;
}

}  // namespace spire
