// Finds the checkpoint that a user names, for --resume, eval and predict.
#pragma once
#include <filesystem>
#include <string>

#include <spire/checkpoint.h>

#include "engine/checkpoint/checkpoint_store.h"

namespace spire {

class CheckpointLocator {
 public:
  // name is one of these:
  //   auto, latest           the newest intact checkpoint of the run in `output`
  //   best                   the best checkpoint of the run in `output`
  //   DIR                    a run's directory, or its folder `checkpoints`; `prefer` decides
  //   DIR/latest, DIR/best   as the words latest and best, for the run in DIR
  //   FILE                   a checkpoint file
  // Throws Error(checkpoint) for a path that does not exist.
  CheckpointLocator(const std::string& name, const std::filesystem::path& output, Prefer prefer);

  const std::filesystem::path& run() const { return run_; }  // the run's folder; empty: a lone file

  // Read and verify the checkpoint. Throw Error(checkpoint) if the named file is damaged, or none
  // of the run's checkpoints is intact. If there is none at all, load() throws, too, but
  // load_if_any() returns nullopt: with `auto`, a new run then begins.
  LoadedCheckpoint load(const CheckpointStore::OnDamaged& on_damaged) const;
  // Also tells on_damaged of a file that was read unchecked (unchecked_warning()).
  std::optional<LoadedCheckpoint> load_if_any(const CheckpointStore::OnDamaged& on_damaged) const;

 private:
  enum class Which { file, newest, best, best_or_newest };

  void find(const std::filesystem::path& path, Prefer prefer);
  CheckpointStore store() const { return CheckpointStore(run_ / "checkpoints", {}); }
  std::optional<LoadedCheckpoint> best() const;
  std::optional<LoadedCheckpoint> read_if_any(const CheckpointStore::OnDamaged& on_damaged) const;

  Which which_ = Which::file;
  std::filesystem::path run_, file_;
};

}  // namespace spire
