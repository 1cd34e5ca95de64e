// Reads the config of a run from YAML files and the command line.
#pragma once
#include <map>
#include <set>
#include <string>
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

// Reads the files and parses their texts, then `later`. A file that cannot be read is one of the
// problems.
SPIRE_API ResolvedConfig load_config(const std::vector<std::string>& files,
                                     const std::vector<std::string>& overrides,
                                     const std::vector<ConfigText>& later = {});

}  // namespace spire
