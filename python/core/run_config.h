// Configs as Python hands them over.
#pragma once
#include <string>
#include <vector>

#include <spire/load_config.h>

namespace spire::python {

struct GivenConfig {
  std::string file;                    // a YAML file; empty: `text`
  std::string text;                    // YAML
  std::vector<std::string> overrides;  // "key.path=value"
};

inline ResolvedConfig resolve(const GivenConfig& given) {
  if (!given.file.empty()) return load_config({given.file}, given.overrides);
  return parse_config({{"config", given.text, given.text.find('\n') != std::string::npos}},
                      given.overrides);
}

}  // namespace spire::python
