// Options that several subcommands have in common, and checks of option values.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/arguments.h"

namespace spire {

// Checks of option values return what is wrong, or an empty string.
std::string positive_integer(const std::string& word);
std::function<std::string(const std::string&)> integer_between(int64_t least, int64_t most);

void add_key_options(CLI::App& app, ParsedWords& words);      // for subcommands that read a config
void add_print_options(CLI::App& app, Arguments& arguments);  // --print-config and --help-config
void add_config_options(CLI::App& app, ParsedWords& words);   // for subcommands that work on a run
void add_log_options(CLI::App& app, Arguments& arguments);    // for subcommands that print progress

// A list of words or numbers: "--counts 1,2,4".
template <typename T>
CLI::Option* add_list(CLI::App& app, const char* name, std::vector<T>& list, const char* help) {
  return app.add_option(name, list, help)->delimiter(',')->allow_extra_args(false);
}

}  // namespace spire
