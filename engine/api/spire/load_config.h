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

struct ResolvedConfig {
  RunConfig config;
  // Key -> source of its value: "default", "run.yaml:12:3", "command line", or the rule that
  // derived it from other keys. Each layer has an entry, too: "model.layers[3].conv2d".
  std::map<std::string, std::string> source;
  std::vector<std::string> warnings;  // "run.yaml:3:5: optimizer.beta1 is not used with ..."
};

// Returns the keys, such as "optimizer.lr", whose source is "default": no text or override sets
// them, and no rule derives them.
SPIRE_API std::set<std::string> defaulted_keys(const ResolvedConfig& resolved);

struct ConfigText {
  std::string name;       // shown in messages: the file's name
  std::string text;       // YAML
  bool has_lines = true;  // false: messages name no line and column
};

// Parses the texts in order: a later value of a key replaces an earlier one, a list as a whole.
// overrides: "key.path=value" with a YAML value; they win over all texts. Throws one Error(config)
// that lists all problems: "run.yaml:12:3: optimizer.lrr: unknown key; did you mean ...".
SPIRE_API ResolvedConfig parse_config(const std::vector<ConfigText>& texts,
                                      const std::vector<std::string>& overrides);

// Reads a config file. Throws Error(config) where it is a folder, is empty or cannot be read.
SPIRE_API ConfigText read_config_file(const std::string& file);

// Calls parse_config() with the texts of the files, followed by `later`. The Error(config) that
// lists all problems includes files that cannot be read.
SPIRE_API ResolvedConfig load_config(const std::vector<std::string>& files,
                                     const std::vector<std::string>& overrides,
                                     const std::vector<ConfigText>& later = {});

// Functions on configs, keys and values as text. Any thread may call them.

// Returns the config as YAML, without the keys in `but`, and without keys that the config does not
// use and that have their defaults. If `but` is empty, parse_config() of the text gives the same
// config.
SPIRE_API std::string to_yaml(const RunConfig& config, const std::set<std::string>& but = {});

// Returns to_yaml() with the source of each value in a comment (trainer --print-config).
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

// Replaces a leading ~ or ~user by the home directory, as a shell does; leaves it in place if the
// user is unknown. Config keys and options that are paths are read in this way.
SPIRE_API std::string expand_home(const std::string& path);

// One axis of a grid, whose points are all combinations of the axes' values (trainer sweep).
struct GridAxis {
  std::string key;                  // "optimizer.lr"
  std::vector<std::string> values;  // as on the command line: "0.1", "[64, 32]"
  bool operator==(const GridAxis&) const = default;
};

// Parse the whole text as one value. Throw Error(config) with what was expected and what was found.
SPIRE_API int64_t parse_integer(std::string_view text);    // decimal digits, sign allowed
SPIRE_API uint64_t parse_unsigned(std::string_view text);  // decimal digits
SPIRE_API double parse_number(std::string_view text);      // "0.1", "5e-4"; finite
SPIRE_API double parse_duration(std::string_view text);    // seconds: "90", "90s", "10m", "1h30m"

}  // namespace spire
