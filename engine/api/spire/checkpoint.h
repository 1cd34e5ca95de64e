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

enum class Prefer { newest, best };  // best: the newest if there is no best one

// Called for each damaged file that is passed over, with what is wrong with it; may be empty.
using OnDamagedFile = std::function<void(const std::filesystem::path&, const std::string& text)>;

// A checkpoint whose file was read and verified; its tensors are read on demand. Copies share it,
// and any threads may use it at once. find_checkpoint() makes it.
class SPIRE_API Checkpoint {
 public:
  const std::filesystem::path& path() const;
  // The folder of its run; empty: the file stands alone.
  const std::filesystem::path& run() const { return run_; }
  int64_t step() const;                    // optimizer steps done
  const std::string& config_yaml() const;  // the whole config of the run
  SampleSpec data() const;  // columns and classes that the model was trained on; Error(checkpoint)
  // For RunOptions::checkpoint, while this or a copy lives.
  const LoadedCheckpoint* loaded() const { return loaded_.get(); }

 private:
  friend SPIRE_API std::optional<Checkpoint> find_checkpoint_if_any(
      const std::string& name, const std::filesystem::path& output, Prefer prefer,
      const OnDamagedFile& on_damaged);
  friend SPIRE_API Checkpoint find_checkpoint(const std::string& name,
                                              const std::filesystem::path& output, Prefer prefer,
                                              const OnDamagedFile& on_damaged);
  Checkpoint(LoadedCheckpoint loaded, std::filesystem::path run);

  std::shared_ptr<const LoadedCheckpoint> loaded_;
  std::filesystem::path run_;
};

// Finds a checkpoint by its name, which is one of these:
//   auto, latest           the newest intact checkpoint of the run in `output`
//   best                   the best checkpoint of the run in `output`
//   DIR                    a run's directory, or its folder `checkpoints`; `prefer` decides
//   DIR/latest, DIR/best   as the words latest and best, for the run in DIR
//   FILE                   a checkpoint file
// Throw Error(checkpoint) for a path that does not exist, if the named file is damaged, or if none
// of the run's checkpoints is intact. If there is none at all, find_checkpoint() throws, too, but
// find_checkpoint_if_any() returns nullopt: with `auto`, a new run then begins.
SPIRE_API Checkpoint find_checkpoint(const std::string& name, const std::filesystem::path& output,
                                     Prefer prefer, const OnDamagedFile& on_damaged);
SPIRE_API std::optional<Checkpoint> find_checkpoint_if_any(const std::string& name,
                                                           const std::filesystem::path& output,
                                                           Prefer prefer,
                                                           const OnDamagedFile& on_damaged);

}  // namespace spire
