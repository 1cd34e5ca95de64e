// Reads a run's config from files, the environment and words of the command line, or from a
// checkpoint.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/checkpoint.h>
#include <spire/error.h>
#include <spire/load_config.h>

#include "tools/arguments.h"
#include "tools/process/descriptor.h"

namespace spire {

// The environment variable that sets `devices` where the command line does not: "cuda:1", "0,2",
// "auto:2". It wins over files and checkpoints; empty: it sets nothing. Child processes get their
// config whole, and do not read it.
inline constexpr const char* devices_variable = "SPIRE_DEVICES";

// Returns what that variable says, expanded; empty if it sets nothing. Throws Error(config).
std::vector<std::string> environment_devices();

// Reads the command line's config. Returns none if it has answered --help-config or --print-config.
std::optional<ResolvedConfig> read_config(const Arguments& arguments);

// Returns `resolved`, or none if it has printed the config for --print-config.
std::optional<ResolvedConfig> answer_print_config(ResolvedConfig resolved,
                                                  const Arguments& arguments);

struct NamedRun {
  ResolvedConfig resolved;
  std::optional<Checkpoint> checkpoint;  // none: name is auto, and there is no checkpoint yet
};

// Reads the run that `name` names (see find_checkpoint()), without a name the run in the output
// directory. Without --config the config is the checkpoint's, changed by the command line; its
// output is then the run's present directory, even if that was moved. Returns none as read_config()
// does. Prints warnings if --log-level allows. Throws Error(config), Error(checkpoint).
std::optional<NamedRun> read_named_run(const Arguments& arguments,
                                       const std::optional<std::string>& name,
                                       CheckpointChoice prefer);

// Returns whether the command line names other data than the run was trained on: then all its
// samples are to be evaluated. False if the command line also sets the share of test or validation
// data.
bool takes_other_data(const NamedRun& run, const Arguments& arguments);

// Throws Error(config) for words of the command line (data.csv.*) by which a table would be read in
// another way than in the training of the run.
void refuse_other_reading(const NamedRun& run, const Arguments& arguments);

// Returns the message with the place of the config key that it begins with in front:
// "run.yaml:12:3: ...". Returns a message without such a key, or of unknown place, unchanged.
std::string with_place(const std::string& message, const ResolvedConfig& resolved);

// Returns work(); adds places to the messages of Error(config) that it throws. Other errors pass.
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

// Returns a function that prints a line on stderr; it prints nothing if --log-level is error.
std::function<void(std::string_view line)> line_printer(const Arguments& arguments);

// A copy of a config in memory, for child processes; without keys that the user did not set.
class ConfigSnapshot {
 public:
  // Prefix of path(). Places in such a file mean nothing to the user.
  static constexpr const char* folder = "/proc/self/fd/";

  explicit ConfigSnapshot(const ResolvedConfig& resolved);
  std::string path() const;  // children can open it while this object lives

 private:
  Descriptor descriptor_;  // a memfd, which children inherit
};

}  // namespace spire
