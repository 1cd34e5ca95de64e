// Reads a run's config: from files and words of the command line, or from a checkpoint.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/checkpoint/checkpoint_locator.h"
#include "tools/arguments.h"

namespace spire::tool {

// Returns nothing after it has answered --help-config or --print-config on stdout.
std::optional<ResolvedConfig> read_config(const Arguments& arguments);

// Returns nothing after it has answered --print-config.
std::optional<ResolvedConfig> answer_print_config(ResolvedConfig resolved,
                                                  const Arguments& arguments);

struct NamedRun {
  ResolvedConfig resolved;
  std::optional<LoadedCheckpoint> checkpoint;  // none: `auto`, before the run has a checkpoint
};

// Reads a run by `name` (see CheckpointLocator), or the run in the output directory. Without
// --config the checkpoint's config counts, changed by the command line; a run named by its
// directory then writes there, even where it was moved. Returns as read_config() does. Warns as
// --log-level allows. Throws Error(config), Error(checkpoint).
std::optional<NamedRun> read_named_run(const Arguments& arguments,
                                       const std::optional<std::string>& name, Prefer prefer);

// Prepends the place in a file to a message that begins with a key.
std::string with_place(const std::string& message, const ResolvedConfig& resolved);

template <typename Work>
auto naming_places(const ResolvedConfig& resolved, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.category() != Category::config) throw;
    throw Error(Category::config, with_place(error.what(), resolved));
  }
}

void print_warnings(const ResolvedConfig& resolved);  // on stderr, one per line
void print_warnings(const std::vector<std::string>& warnings);

// Copy of a config in memory for child processes. Keys that nobody gave stay unset in it.
class ConfigSnapshot {
 public:
  static constexpr const char* folder = "/proc/self/fd/";  // prefix of path()

  explicit ConfigSnapshot(const ResolvedConfig& resolved);
  ~ConfigSnapshot();
  ConfigSnapshot(const ConfigSnapshot&) = delete;
  ConfigSnapshot& operator=(const ConfigSnapshot&) = delete;

  std::string path() const;  // for children of this process, during the object's lifetime

 private:
  int descriptor_ = -1;  // of a memfd that children inherit
};

}  // namespace spire::tool
