// Finds the checkpoint that a user names, for --resume, eval and predict.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include <spire/checkpoint.h>

#include "engine/checkpoint/checkpoint_store.h"

namespace spire {

struct NamedCheckpoint {
  std::filesystem::path run;                   // the run's folder; empty: the file lies elsewhere
  std::optional<LoadedCheckpoint> checkpoint;  // nullopt only from load_named_if_any()
};

// Find, read and verify the checkpoint of that name, as find_checkpoint() and
// find_checkpoint_if_any() of <spire/checkpoint.h>, which say what a name may be. on_damaged also
// gets the unchecked_warning() of the file; it may be empty.
NamedCheckpoint load_named(const std::string& name, const std::filesystem::path& output,
                           CheckpointChoice prefer, const CheckpointStore::OnDamaged& on_damaged);
NamedCheckpoint load_named_if_any(const std::string& name, const std::filesystem::path& output,
                                  CheckpointChoice prefer,
                                  const CheckpointStore::OnDamaged& on_damaged);

}  // namespace spire
