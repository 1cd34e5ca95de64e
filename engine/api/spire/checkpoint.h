// Finds and reads the checkpoint that a user names, as trainer's --resume and --checkpoint do.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spire/dataset.h>
#include <spire/export.h>

namespace spire {

struct LoadedCheckpoint;

enum class CheckpointChoice { newest, best };  // which of a run; best: the newest if it has no best

// Called with a path and a message: for each damaged file that is skipped; and, once per process,
// for a file that was read although spire-hdf5-check, which checks files first, was not found. May
// be empty.
using OnDamagedFile = std::function<void(const std::filesystem::path&, const std::string& text)>;

// A verified checkpoint file, whose tensors are read on demand. Copies share the open file; any
// threads may use it at once. Made by find_checkpoint() and find_checkpoint_if_any().
class SPIRE_API Checkpoint {
 public:
  const std::filesystem::path& path() const;
  // Returns the directory of the run that the file lies in; empty: it lies elsewhere.
  const std::filesystem::path& run() const { return run_; }
  int64_t step() const;                    // optimizer steps done
  const std::string& config_yaml() const;  // the whole config of the run
  SampleSpec data() const;  // columns and classes that the model was trained on; Error(checkpoint)
  // Returns the value for RunOptions::checkpoint; valid while this object or a copy of it lives.
  const LoadedCheckpoint* loaded() const { return loaded_.get(); }

 private:
  friend SPIRE_API std::optional<Checkpoint> find_checkpoint_if_any(
      const std::string& name, const std::filesystem::path& output, CheckpointChoice prefer,
      const OnDamagedFile& on_damaged);
  friend SPIRE_API Checkpoint find_checkpoint(const std::string& name,
                                              const std::filesystem::path& output,
                                              CheckpointChoice prefer,
                                              const OnDamagedFile& on_damaged);
  Checkpoint(LoadedCheckpoint loaded, std::filesystem::path run);

  std::shared_ptr<const LoadedCheckpoint> loaded_;
  std::filesystem::path run_;
};

// Find, read and verify the checkpoint with this name:
//   auto, latest           the newest intact checkpoint of the run in `output`
//   best                   the best checkpoint of the run in `output`
//   DIR                    a run's directory, or its folder `checkpoints`; `prefer` decides
//   DIR/latest, DIR/best   as the words latest and best, for the run in DIR
//   FILE                   a checkpoint file
// Both throw Error(checkpoint) if the path does not exist, if the named file is damaged, or if the
// run has checkpoints and none is intact. If the run has no checkpoint, or none that is best,
// find_checkpoint() throws, but find_checkpoint_if_any() returns nullopt.
SPIRE_API Checkpoint find_checkpoint(const std::string& name, const std::filesystem::path& output,
                                     CheckpointChoice prefer, const OnDamagedFile& on_damaged);
SPIRE_API std::optional<Checkpoint> find_checkpoint_if_any(const std::string& name,
                                                           const std::filesystem::path& output,
                                                           CheckpointChoice prefer,
                                                           const OnDamagedFile& on_damaged);

}  // namespace spire
