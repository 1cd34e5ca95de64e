// Finds the checkpoint that a user names, for --resume, eval and predict alike.
#pragma once
#include <filesystem>
#include <string>

#include "engine/checkpoint/checkpoint_store.h"

namespace spire::inline checkpoint {

enum class Prefer { newest, best };  // of a run's checkpoints; best: the newest without evaluations

class CheckpointLocator {
 public:
  // name:
  //   auto, latest     the newest intact checkpoint of the run in `output`
  //   best             the best one of the run in `output`
  //   a directory      a run's, or its folder `checkpoints`: by `prefer`
  //   .../best, .../latest   in such a directory: the same as the words
  // or a checkpoint file. Throws Error(checkpoint) for a path that does not exist.
  CheckpointLocator(const std::string& name, const std::filesystem::path& output, Prefer prefer);

  const std::filesystem::path& run() const { return run_; }  // its folder; empty: not of a run

  // Reads and verifies it. Throws Error(checkpoint) where the run has no intact checkpoint, or the
  // named file is damaged.
  LoadedCheckpoint load(const CheckpointStore::OnDamaged& on_damaged) const;
  std::optional<LoadedCheckpoint> load_if_any(  // nothing where the run has no checkpoint
      const CheckpointStore::OnDamaged& on_damaged) const;

 private:
  enum class Which { file, newest, best, best_or_newest };

  void find(const std::filesystem::path& path, Prefer prefer);
  CheckpointStore store() const { return CheckpointStore(run_ / "checkpoints", {}); }
  std::optional<LoadedCheckpoint> best() const;

  Which which_ = Which::file;
  std::filesystem::path run_, file_;
};

}  // namespace spire::inline checkpoint
