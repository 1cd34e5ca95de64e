// The folder of a run's checkpoints: step_00001000.h5 and so on, and two pointers, the text files
// `latest` and `best`, that each hold one of these names. It decides which checkpoints retention
// deletes, and from which one a run resumes.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/training_state.h"

namespace spire::inline checkpoint {

struct Retention {
  int64_t keep_last = 3;   // newest ones kept; at least 1
  int64_t keep_every = 0;  // multiples of this step are never deleted; 0: none
};

struct CheckpointEntry {
  int64_t step = 0;
  std::filesystem::path path;
};

// A verified checkpoint. Its tensors are still in the file, which is kept open.
struct LoadedCheckpoint {
  std::filesystem::path path;
  StateMetadata state;
  std::shared_ptr<const SavedTensors> tensors;  // null where another process reads them
};
// Throws as CheckpointFile does.
LoadedCheckpoint load_checkpoint(const std::filesystem::path& path);

// Used by one process a folder. save() and the reading calls may come from different threads, as
// they touch whole files only; save() is for one thread at a time. All calls throw
// Error(checkpoint) where the folder exists and cannot be listed, or a pointer cannot be read: that
// is not "no checkpoint". Files without the name of a checkpoint or pointer are left alone.
class CheckpointStore {
 public:
  // Touches no file; the first save() makes the folder.
  CheckpointStore(std::filesystem::path directory, Retention retention);

  std::filesystem::path path_of(int64_t step) const;
  std::vector<CheckpointEntry> list() const;            // ascending steps; empty without a folder
  std::optional<std::filesystem::path> latest() const;  // the pointer's file, if that exists
  std::optional<std::filesystem::path> best() const;

  // Writes the file, then `latest`, then `best` if metadata.best_step is metadata.step, then
  // deletes the checkpoints that retention does not keep. After a kill anywhere in between a run
  // can still resume. Throws Error(checkpoint) when the file or a pointer cannot be written, a
  // PermanentError where another attempt would fail, too. piece: see write_checkpoint().
  std::filesystem::path save(const StateMetadata& metadata, const SavedTensors& tensors,
                             std::span<float> piece) const;

  // Returns the intact checkpoint of the highest step; nothing when there is none. Calls on_damaged
  // with the reason for each damaged file on the way, and for a file whose name says another step
  // than its metadata, which counts. The text names the file, too.
  using OnDamaged = std::function<void(const std::filesystem::path&, const std::string& text)>;
  std::optional<LoadedCheckpoint> newest_intact(const OnDamaged& on_damaged) const;

  // Removes the checkpoints after `step`, from which a resumed run may diverge, and the temporaries
  // of a killed writer. `resumed` itself stays, whatever its name says. Returns the removed files.
  std::vector<std::filesystem::path> begin_at(int64_t step,
                                              const std::filesystem::path& resumed = {}) const;
  std::vector<std::filesystem::path> sweep_temporaries() const;
  // Removes all checkpoints and pointers, for a run that starts over here.
  std::vector<std::filesystem::path> clear() const;

 private:
  std::optional<std::filesystem::path> follow(std::string_view pointer) const;
  void prune(int64_t saved_step) const;

  std::filesystem::path directory_;
  Retention retention_;
};

}  // namespace spire::inline checkpoint
