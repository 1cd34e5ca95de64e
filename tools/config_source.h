// From the command line to a run's config.
#pragma once
#include <optional>
#include <string>

#include <spire/error.h>
#include <spire/load_config.h>

#include "tools/arguments.h"

namespace spire::tool {

// Reads files and overrides. Answers --help-config and --print-config on stdout; then there is
// nothing left to do, and no config is returned.
std::optional<ResolvedConfig> read_config(const Arguments& arguments);

// The config; after printing it, where --print-config asks for that, nothing.
std::optional<ResolvedConfig> answer_print_config(ResolvedConfig resolved,
                                                  const Arguments& arguments);

// A message that begins with a key or a layer ("model.layers[3].dense: ...") behind the place in a
// file where that stands; other messages as they are.
std::string with_place(const std::string& message, const ResolvedConfig& resolved);

// Runs it; what it says is wrong with the config is said with the place.
template <typename Work>
auto naming_places(const ResolvedConfig& resolved, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.category() != Category::config) throw;
    throw Error(Category::config, with_place(error.what(), resolved));
  }
}

// The config's warnings, a line each on stderr.
void print_warnings(const ResolvedConfig& resolved);
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace spire::tool
