// Reads the config of a run from YAML files and the command line.
#pragma once
#include <map>
#include <set>

#include <spire/run_config.h>

namespace spire {

// A config with the sources of its values.
struct ResolvedConfig {
  RunConfig config;
  // Source of each key's value: "default", "run.yaml:12:3", "command line", or the rule from which
  // it follows. Each layer of model.layers has one, too ("model.layers[3].conv2d").
  std::map<std::string, std::string> source;
  // Doubts about given keys, one line each: "run.yaml:3:5: optimizer.beta1 is not used with ...".
  std::vector<std::string> warnings;
};

// The keys that have their default values because no source gives them.
std::set<std::string> left_out(const ResolvedConfig& resolved);

struct ConfigText {
  std::string name;  // for messages: the file's name
  std::string text;  // YAML
};

// Later texts win over earlier ones, key by key; lists are replaced, not joined. `overrides` are
// "key.path=value" with a YAML value and win over all texts. Throws one Error(config) with all
// problems, one a line: "run.yaml:12:3: optimizer.lrr: unknown key; did you mean ...".
ResolvedConfig parse_config(const std::vector<ConfigText>& texts,
                            const std::vector<std::string>& overrides);

// The same from files. A file that cannot be read is one of the problems reported.
ResolvedConfig load_config(const std::vector<std::string>& files,
                           const std::vector<std::string>& overrides);

}  // namespace spire
