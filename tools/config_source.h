// Sources of a run's config: files and words of the command line, a checkpoint, a snapshot for
// child processes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/checkpoint/checkpoint_locator.h"
#include "tools/arguments.h"

namespace spire::tool {

// Reads files and overrides. Answers --help-config and --print-config on stdout and then returns
// nothing.
std::optional<ResolvedConfig> read_config(const Arguments& arguments);

// Prints the config where --print-config asks for it, and then returns nothing; else returns it.
std::optional<ResolvedConfig> answer_print_config(ResolvedConfig resolved,
                                                  const Arguments& arguments);

// Config and checkpoint of a run that the command line names by one of its checkpoints.
struct NamedRun {
  ResolvedConfig resolved;
  std::optional<LoadedCheckpoint> checkpoint;  // none: `auto`, before the run has a checkpoint
};

// Reads a run by `name` (see CheckpointLocator), or the run in the output directory without a name.
// Without --config the checkpoint's own config counts, changed by the keys of the command line; a
// run that is named by its directory then writes there, even where it was moved. Answers
// --help-config and --print-config on stdout and then returns nothing. Warnings about checkpoints
// go to stderr as --log-level allows. Throws Error(config), Error(checkpoint).
std::optional<NamedRun> read_named_run(const Arguments& arguments,
                                       const std::optional<std::string>& name, Prefer prefer);

// Prepends the place in a file to a message that begins with a key or a layer
// ("model.layers[3].dense: ..."); returns other messages unchanged.
std::string with_place(const std::string& message, const ResolvedConfig& resolved);

// Calls `work` and adds the place to the message of an Error(config).
template <typename Work>
auto naming_places(const ResolvedConfig& resolved, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.category() != Category::config) throw;
    throw Error(Category::config, with_place(error.what(), resolved));
  }
}

// Prints warnings on stderr, one per line.
void print_warnings(const ResolvedConfig& resolved);
void print_warnings(const std::vector<std::string>& warnings);

// Copy of a config in memory for child processes: the files may change, and a pipe can be read only
// once. Keys that nobody gave stay unset in the copy.
class ConfigSnapshot {
 public:
  // Prefix of path(). Places in such a file mean nothing to the user.
  static constexpr const char* folder = "/proc/self/fd/";

  explicit ConfigSnapshot(const ResolvedConfig& resolved);
  ~ConfigSnapshot();
  ConfigSnapshot(const ConfigSnapshot&) = delete;
  ConfigSnapshot& operator=(const ConfigSnapshot&) = delete;

  // Path of the copy for this process's children; valid during the object's lifetime.
  std::string path() const;

 private:
  int descriptor_ = -1;  // of a memfd that children inherit
};

}  // namespace spire::tool
