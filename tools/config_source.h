// From the command line to a run's config.
#pragma once
#include <spire/config/load.h>

#include <optional>

#include "arguments.h"

namespace spire::tool {

// Reads files and overrides. Answers --help-config and --print-config on stdout; then there is
// nothing left to do, and no config is returned.
std::optional<ResolvedConfig> read_config(const Arguments& arguments);

// The config's warnings, a line each on stderr.
void print_warnings(const ResolvedConfig& resolved);
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace spire::tool
