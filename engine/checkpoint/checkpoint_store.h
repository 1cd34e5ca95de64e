// Folder of a run's checkpoints: step_00001000.h5 and so on, and two pointers, which are text files
// `latest` and `best` with one of these names. Deletes old checkpoints, finds the one to resume.
// And the search for the checkpoint that a user names.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/checkpoint.h>

#include "engine/checkpoint/training_state.h"

namespace spire {

struct Retention {
  int64_t keep_last = 3;   // how many to keep, from the one just saved downwards; at least 1
  int64_t keep_every = 0;  // checkpoints at multiples of this step are never deleted; 0: none
  // Returns the step to which a run may still roll back after saving `saved`; its checkpoint is
  // kept, too.
  std::function<int64_t(int64_t saved)> rollback_step = {};
  // Returns whether the run wrote the file of that name. Other files are never deleted. Empty: the
  // run wrote all of them.
  std::function<bool(const std::string& name)> is_ours = {};
};

struct CheckpointEntry {
  int64_t step = 0;
  std::filesystem::path path;
};

// Verified checkpoint, whose tensors are read from the file on demand.
struct LoadedCheckpoint {
  std::filesystem::path path;
  StateMetadata state;
  std::shared_ptr<const SavedTensors> tensors;  // null if another process reads them
  bool checked = true;                          // false: spire-hdf5-check did not read it first
};
// Throws what CheckpointFile throws.
LoadedCheckpoint load_checkpoint(const std::filesystem::path& path);

// Only one process may write to a folder. Other threads may read while one saves. All calls throw
// Error(checkpoint) if the folder exists but cannot be listed, or a pointer cannot be read. Files
// with other names are left alone.
class CheckpointStore {
 public:
  // Touches no file; the first save() makes the folder.
  CheckpointStore(std::filesystem::path directory, Retention retention);

  std::filesystem::path path_of(int64_t step) const;
  std::vector<CheckpointEntry> list() const;            // by step; empty without a folder
  std::optional<std::filesystem::path> latest() const;  // file that `latest` names, if it exists
  std::optional<std::filesystem::path> best() const;

  // Writes the checkpoint and then `latest`. Lets `best` name the checkpoint of metadata.best_step
  // if that file exists. Then deletes what retention does not keep. piece: see write_checkpoint().
  // Throws Error(checkpoint): a PermanentError if a retry would fail, too.
  std::filesystem::path save(const StateMetadata& metadata, const SavedTensors& tensors,
                             std::span<float> piece) const;

  // Copies the checkpoint of `step` from the folder `other`. Does nothing if this folder has it
  // already, or if `other` lacks it. Throws Error(checkpoint).
  void take_from(const std::filesystem::path& other, int64_t step) const;

  // Returns the intact checkpoint with the highest step in its metadata; nullopt if there is none.
  // Calls on_damaged for each damaged file that it tries, and for each intact one whose name has
  // another step than its metadata. Throws UnreadableFile for a file that it cannot read or of
  // another format: it may be intact, and resuming from an older one would delete it.
  using OnDamaged = std::function<void(const std::filesystem::path&, const std::string& text)>;
  std::optional<LoadedCheckpoint> newest_intact(const OnDamaged& on_damaged) const;

  std::vector<std::filesystem::path> of_others() const;  // checkpoints that the run does not own

  // Remove the run's own files and return their paths. remove_after(): checkpoints after `step`,
  // except `resumed`, and temporary files. sweep_temporaries(): only the latter. clear(): all
  // checkpoints and temporary files, then `latest` and `best`, unless the file that they name still
  // exists.
  std::vector<std::filesystem::path> remove_after(int64_t step,
                                                  const std::filesystem::path& resumed = {}) const;
  std::vector<std::filesystem::path> sweep_temporaries() const;
  std::vector<std::filesystem::path> clear() const;

 private:
  std::optional<std::filesystem::path> follow(std::string_view pointer) const;
  void point_to_best(int64_t step) const;
  bool owns(const std::filesystem::path& name) const;
  void prune(int64_t saved_step, int64_t best_step) const;

  std::filesystem::path directory_;
  Retention retention_;
};

// Finds the checkpoint that a user names, for --resume, eval and predict.

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
