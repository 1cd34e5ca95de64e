#include "tools/config_source.h"

#include <spire/error.h>

#include "engine/config/text.h"
#include "tools/config_snapshot.h"
#include "tools/streams.h"

namespace spire::tool {

std::optional<ResolvedConfig> read_config(const Arguments& arguments) {
  if (arguments.help_config) {
    print_result("{}", config_help());
    return {};
  }
  return answer_print_config(load_config(arguments.configs, arguments.overrides), arguments);
}

std::optional<ResolvedConfig> answer_print_config(ResolvedConfig resolved,
                                                  const Arguments& arguments) {
  if (!arguments.print_config) return resolved;
  print_result("{}", to_annotated_yaml(resolved));
  print_warnings(resolved);
  return {};
}

// The engine knows keys and not where they stand.
std::string with_place(const std::string& message, const ResolvedConfig& resolved) {
  std::string path = message.substr(0, message.find(": "));
  while (!path.empty() && !resolved.source.contains(path))
    path.resize(path.rfind('.') == path.npos ? 0 : path.rfind('.'));
  if (path.empty()) return message;
  const std::string& place = resolved.source.at(path);
  if (place.starts_with(ConfigSnapshot::folder)) return message;  // nobody can open it
  bool in_file = place.find(':') != place.npos;                   // "run.yaml:12:3"
  return in_file ? fmt::format("{}: {}", place, message) : message;
}

void print_warnings(const ResolvedConfig& resolved) {
  print_warnings(resolved.warnings);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) print_log("warning: {}\n", warning);
}

}  // namespace spire::tool
