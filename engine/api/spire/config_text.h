// Configs as text: YAML, help on all keys, the key that a word means, and single values. All
// functions are pure; any thread may call them.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <spire/export.h>
#include <spire/load_config.h>

namespace spire {

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
