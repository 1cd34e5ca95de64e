#include "config_source.h"

#include <spire/base/error.h>
#include <spire/config/help.h>
#include <spire/config/text.h>

namespace spire::tool {

std::optional<ResolvedConfig> read_config(const Arguments& arguments) {
  if (arguments.help_config) {
    fmt::print("{}", config_help());
    return {};
  }
  ResolvedConfig resolved = load_config(arguments.configs, arguments.overrides);
  if (!arguments.print_config) return resolved;
  fmt::print("{}", to_annotated_yaml(resolved));
  print_warnings(resolved);
  return {};
}

void print_warnings(const ResolvedConfig& resolved) {
  print_warnings(resolved.warnings);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

}  // namespace spire::tool
