// Folder of a run's checkpoints: step_00001000.h5 and so on, and two pointers, the text files
// `latest` and `best` with one of these names. It deletes by retention and finds what to resume.
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

// A verified checkpoint, whose tensors are read from the file on demand.
struct LoadedCheckpoint {
  std::filesystem::path path;
  StateMetadata state;
  std::shared_ptr<const SavedTensors> tensors;  // null where another process reads them
};
LoadedCheckpoint load_checkpoint(const std::filesystem::path& path);  // throws as CheckpointFile

// Used by one process a folder. Any thread may read while one saves. All calls throw
// Error(checkpoint) where the folder exists and cannot be listed, or a pointer cannot be read.
// Files with other names are left alone.
class CheckpointStore {
 public:
  // Touches no file; the first save() makes the folder.
  CheckpointStore(std::filesystem::path directory, Retention retention);

  std::filesystem::path path_of(int64_t step) const;
  std::vector<CheckpointEntry> list() const;            // ascending steps; empty without a folder
  std::optional<std::filesystem::path> latest() const;  // the pointer's file, if that exists
  std::optional<std::filesystem::path> best() const;

  // Writes the file, then `latest`, then `best` if metadata.best_step is metadata.step, then
  // deletes what retention does not keep. piece: see write_checkpoint(). Throws Error(checkpoint),
  // PermanentError where a retry would fail, too.
  std::filesystem::path save(const StateMetadata& metadata, const SavedTensors& tensors,
                             std::span<float> piece) const;

  // Returns the intact checkpoint of the highest step, by its metadata; nothing when there is none.
  // Calls on_damaged for each damaged file on the way, and for one whose name says another step.
  using OnDamaged = std::function<void(const std::filesystem::path&, const std::string& text)>;
  std::optional<LoadedCheckpoint> newest_intact(const OnDamaged& on_damaged) const;

  // Remove files and return them: checkpoints after `step` but `resumed`, with all temporaries;
  // the temporaries of a killed writer; everything, for a run that starts over.
  std::vector<std::filesystem::path> remove_after(int64_t step,
                                                  const std::filesystem::path& resumed = {}) const;
  std::vector<std::filesystem::path> sweep_temporaries() const;
  std::vector<std::filesystem::path> clear() const;

 private:
  std::optional<std::filesystem::path> follow(std::string_view pointer) const;
  void prune(int64_t saved_step) const;

  std::filesystem::path directory_;
  Retention retention_;
};

}  // namespace spire::inline checkpoint
