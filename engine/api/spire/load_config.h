// Reads the config of a run from YAML files and the command line.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include <spire/run_config.h>

namespace spire {

struct ResolvedConfig {
  RunConfig config;
  // By key, the source of its value: "default", "run.yaml:12:3", "command line", or the rule from
  // which it follows. Each layer has one, too ("model.layers[3].conv2d").
  std::map<std::string, std::string> source;
  std::vector<std::string> warnings;  // "run.yaml:3:5: optimizer.beta1 is not used with ..."
};

// Returns the keys that have their default values because no source gives them.
std::set<std::string> left_out(const ResolvedConfig& resolved);

struct ConfigText {
  std::string name;  // for messages: the file's name
  std::string text;  // YAML
};

// Parses texts; later ones win over earlier ones, key by key, and lists are replaced, not joined.
// `overrides` are "key.path=value" with a YAML value and win over all texts. Throws one
// Error(config) with all problems: "run.yaml:12:3: optimizer.lrr: unknown key; did you mean ...".
ResolvedConfig parse_config(const std::vector<ConfigText>& texts,
                            const std::vector<std::string>& overrides);

// Does the same with files. A file that cannot be read is one of the problems.
ResolvedConfig load_config(const std::vector<std::string>& files,
                           const std::vector<std::string>& overrides);

}  // namespace spire
