// Configs as text: reads them from YAML files and the command line, and writes them.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <spire/export.h>
#include <spire/run_config.h>

namespace spire {

// Reads the config of a run from YAML files and the command line.

struct ResolvedConfig {
  RunConfig config;
  // Key -> source of its value: "default", "run.yaml:12:3", "command line", or the rule that
  // derived it from other keys. Each layer has an entry, too: "model.layers[3].conv2d".
  std::map<std::string, std::string> source;
  std::vector<std::string> warnings;  // "run.yaml:3:5: optimizer.beta1 is not used with ..."
};

// Returns the keys that no text and no override sets, such as "optimizer.lr".
SPIRE_API std::set<std::string> left_out(const ResolvedConfig& resolved);

struct ConfigText {
  std::string name;       // shown in messages: the file's name
  std::string text;       // YAML
  bool has_lines = true;  // messages also name the line
};

// Parses the texts in order: a later value of a key replaces an earlier one, a list as a whole.
// overrides: "key.path=value" with a YAML value; they win over all texts. Throws one Error(config)
// that lists all problems: "run.yaml:12:3: optimizer.lrr: unknown key; did you mean ...".
SPIRE_API ResolvedConfig parse_config(const std::vector<ConfigText>& texts,
                                      const std::vector<std::string>& overrides);

// Reads a config file. Throws Error(config) where it is a folder, is empty or cannot be read.
SPIRE_API ConfigText read_config_file(const std::string& file);

// Reads the files and parses their texts, then `later`. A file that cannot be read is one of the
// problems.
SPIRE_API ResolvedConfig load_config(const std::vector<std::string>& files,
                                     const std::vector<std::string>& overrides,
                                     const std::vector<ConfigText>& later = {});

// Configs as text: YAML, help on all keys, the key that a word means, and single values. All
// functions are pure; any thread may call them.

// Returns the config as YAML, without the keys in `but` and without unused keys that have their
// defaults. If `but` is empty, parse_config() of the text gives the same config.
SPIRE_API std::string to_yaml(const RunConfig& config, const std::set<std::string>& but = {});

// Returns the same with the source of each value as a comment (trainer --print-config).
SPIRE_API std::string to_annotated_yaml(const ResolvedConfig& resolved);

// Returns the word as a value on one line, in quotes if YAML needs them.
SPIRE_API std::string yaml_word(const std::string& word);

// Returns the value of a key on one line: "auto", "[64, 32]". REQUIRES: there is such a key.
SPIRE_API std::string key_text(const std::string& key, const RunConfig& config);

// Returns help on all keys and layers (trainer --help-config).
SPIRE_API std::string config_help();

// Returns the key that a word names: in full ("optimizer.lr"), by its last part where that is
// unique ("lr"), or in another program's words ("learning_rate"); "" if it names none.
SPIRE_API std::string find_key(const std::string& word);

// Returns a path with a home directory in place of ~ or ~user at its head, as a shell has it. Keys
// and options that are paths are read so. A ~ of no known user stays.
SPIRE_API std::string expand_home(const std::string& path);

// A key with the values that it takes in a grid over several keys, every combination one point.
struct GridAxis {
  std::string key;                  // "optimizer.lr"
  std::vector<std::string> values;  // as on the command line: "0.1", "[64, 32]"
  bool operator==(const GridAxis&) const = default;
};

// Parse a value, in which extra characters are an error. They throw Error(config), which says what
// was expected and what was found.
SPIRE_API int64_t parse_integer(std::string_view text);    // decimal digits, sign allowed
SPIRE_API uint64_t parse_unsigned(std::string_view text);  // decimal digits
SPIRE_API double parse_number(std::string_view text);      // "0.1", "5e-4"; finite
SPIRE_API double parse_duration(std::string_view text);    // seconds: "90", "90s", "10m", "1h30m"

}  // namespace spire
