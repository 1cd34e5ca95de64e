#include "config_source.h"

#include <spire/base/error.h>
#include <spire/config/help.h>
#include <spire/config/text.h>

#include "streams.h"

namespace spire::tool {

std::optional<ResolvedConfig> read_config(const Arguments& arguments) {
  if (arguments.help_config) {
    print_result("{}", config_help());
    return {};
  }
  ResolvedConfig resolved = load_config(arguments.configs, arguments.overrides);
  if (!arguments.print_config) return resolved;
  print_result("{}", to_annotated_yaml(resolved));
  print_warnings(resolved);
  return {};
}

void print_warnings(const ResolvedConfig& resolved) {
  for (const std::string& warning : resolved.warnings) print_log("warning: {}\n", warning);
}

}  // namespace spire::tool
