// Finds the checkpoint that a user names, for --resume, eval and predict alike.
#pragma once
#include <filesystem>
#include <string>

#include "engine/checkpoint/checkpoint_store.h"

namespace spire::inline checkpoint {

// Choice among the checkpoints of a run that is named as a whole: a run resumes from the newest
// intact one; it is judged by its best one, or the newest where nothing was evaluated.
enum class Prefer { newest, best };

class CheckpointLocator {
 public:
  // name:
  //   auto, latest     the newest intact checkpoint of the run in `output`
  //   best             the best one of the run in `output`
  //   a directory      a run's, or its folder `checkpoints`: the one that `prefer` says
  //   .../best, .../latest   in one of these: the same as the words
  //   a file           that checkpoint
  // Throws Error(checkpoint) for a path that does not exist.
  CheckpointLocator(const std::string& name, const std::filesystem::path& output, Prefer prefer);

  // Returns the directory of the checkpoint's run; empty: it is a file outside of any run.
  const std::filesystem::path& run() const { return run_; }

  // Reads and verifies it. on_damaged: see CheckpointStore::newest_intact. Throws Error(checkpoint)
  // where the run has no checkpoint, or no intact one, or the named file is damaged.
  LoadedCheckpoint load(const CheckpointStore::OnDamaged& on_damaged) const;
  // The same, but returns nothing where the run has no checkpoint, as for `auto` before the first.
  std::optional<LoadedCheckpoint> load_if_any(const CheckpointStore::OnDamaged& on_damaged) const;

 private:
  enum class Which { file, newest, best, best_or_newest };

  void find(const std::filesystem::path& path, Prefer prefer);
  CheckpointStore store() const { return CheckpointStore(run_ / "checkpoints", {}); }
  std::optional<LoadedCheckpoint> best() const;

  Which which_ = Which::file;
  std::filesystem::path run_, file_;
};

}  // namespace spire::inline checkpoint
