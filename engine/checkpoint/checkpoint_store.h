// The folder of a run's checkpoints: step_00001000.h5 and so on, and two text files, `latest` and
// `best`, that each hold one of these names. Who deletes what, and which one to resume from, is
// decided here.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/snapshot.h"

namespace spire::inline checkpoint {

struct Retention {
  int64_t keep_last = 3;   // newest ones kept; at least 1
  int64_t keep_every = 0;  // multiples of this step are never deleted; 0: none
};

struct CheckpointEntry {
  int64_t step = 0;
  std::filesystem::path path;
};

// A checkpoint that was verified whole; its tensors are still in the file, which is kept open.
struct LoadedCheckpoint {
  std::filesystem::path path;
  StateMetadata state;
  std::shared_ptr<const SavedTensors> tensors;  // null where another process reads them
};
// Error(checkpoint) names the file and what is damaged.
LoadedCheckpoint load_checkpoint(const std::filesystem::path& path);

// One process a folder. save() and the reading calls may come from different threads, for they
// touch whole files only; two save() at a time may not. All calls throw Error(checkpoint) where the
// folder is there and cannot be listed, or a pointer cannot be read: that is not "no checkpoint".
// Nothing is listed, followed or removed but what has the name of a checkpoint or pointer.
class CheckpointStore {
 public:
  // Touches nothing yet; the first save() makes the folder.
  CheckpointStore(std::filesystem::path directory, Retention retention);

  std::filesystem::path path_of(int64_t step) const;
  std::vector<CheckpointEntry> list() const;            // ascending steps; empty without a folder
  std::optional<std::filesystem::path> latest() const;  // what the pointer names, if that exists
  std::optional<std::filesystem::path> best() const;

  // Writes the file, then `latest`, then `best` if state.best_step is state.step, then deletes what
  // retention does not keep. Killed anywhere in between, the folder still resumes.
  // Error(checkpoint) when the file or a pointer cannot be written. piece: see write_checkpoint().
  std::filesystem::path save(const StateMetadata& metadata, const SavedTensors& tensors,
                             std::span<float> piece) const;

  // The checkpoint of the highest step that verifies; each one that does not is told to `on_bad`
  // with the reason, as is one whose name says another step: its own step counts. The text names
  // the file, too. Nothing when there is none.
  using OnBad = std::function<void(const std::filesystem::path&, const std::string& text)>;
  std::optional<LoadedCheckpoint> newest_good(const OnBad& on_bad) const;

  // Call once when resuming at `step`: removes later checkpoints, which belong to a future that
  // will now go another way (or were bad), and what a killed writer left. `resumed` itself stays,
  // whatever its name says. Returns what was removed.
  std::vector<std::filesystem::path> begin_at(int64_t step,
                                              const std::filesystem::path& resumed = {}) const;
  std::vector<std::filesystem::path> sweep_temporaries() const;
  // All of it, for a run that begins anew here.
  std::vector<std::filesystem::path> clear() const;

 private:
  std::optional<std::filesystem::path> follow(std::string_view pointer) const;
  void prune(int64_t saved_step) const;

  std::filesystem::path directory_;
  Retention retention_;
};

}  // namespace spire::inline checkpoint
