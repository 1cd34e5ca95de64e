// What a person calls a checkpoint, found: one mechanism for --resume, eval and predict.
#pragma once
#include <filesystem>
#include <string>

#include "engine/checkpoint/checkpoint_store.h"

namespace spire::inline checkpoint {

// Which checkpoint stands for a run as a whole: the newest good one is where a run goes on, the
// best one what it is worth (and the newest good one where nothing was evaluated).
enum class OfRun { newest, best };

class NamedCheckpoint {
 public:
  // name:
  //   auto, latest     the newest good checkpoint of the run in `output`
  //   best             the best one of the run in `output`
  //   a directory      a run's, or its folder `checkpoints`: the one that `of_run` says
  //   .../best, .../latest   in one of these: the same as the words
  //   a file           that checkpoint
  // Throws Error(checkpoint) for a path where nothing is.
  NamedCheckpoint(const std::string& name, const std::filesystem::path& output, OfRun of_run);

  // The directory of the run that it belongs to; empty: it is a file outside of any.
  const std::filesystem::path& run() const { return run_; }

  // Reads it. on_bad: as CheckpointStore::newest_good. Throws Error(checkpoint) where the run has
  // none, or none that is whole, or the file named is damaged.
  LoadedCheckpoint load(const CheckpointStore::OnBad& on_bad) const;
  // The same, but nothing where the run has none at all, as for `auto` before the first one.
  std::optional<LoadedCheckpoint> load_if_any(const CheckpointStore::OnBad& on_bad) const;

 private:
  enum class Which { file, newest, best, best_or_newest };

  void find(const std::filesystem::path& path, OfRun of_run);
  CheckpointStore store() const { return CheckpointStore(run_ / "checkpoints", {}); }
  std::optional<LoadedCheckpoint> best() const;

  Which which_ = Which::file;
  std::filesystem::path run_, file_;
};

}  // namespace spire::inline checkpoint
