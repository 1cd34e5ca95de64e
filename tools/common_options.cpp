#include "tools/common_options.h"

#include <spire/load_config.h>

#include "engine/base/fail.h"

namespace spire {

namespace {

std::string one_of_levels(const std::string& word) {
  bool known = word == "info" || word == "warning" || word == "error";
  return known ? "" : fmt::format("must be info, warning or error, got '{}'", word);
}

}  // namespace

std::string positive_integer(const std::string& word) {
  try {
    return parse_integer(word) > 0 ? "" : fmt::format("expected at least 1, got {}", word);
  } catch (const Error& error) {
    return error.what();
  }
}

std::function<std::string(const std::string&)> integer_between(int64_t least, int64_t most) {
  return [=](const std::string& word) -> std::string {
    try {
      int64_t value = parse_integer(word);
      if (value >= least && value <= most) return "";
      return fmt::format("expected {} to {}, got {}", least, most, word);
    } catch (const Error& error) {
      return error.what();
    }
  };
}

// Options of every subcommand that reads a config.
void add_key_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  // One FILE after each -c, else the words behind it would be files, too.
  app.add_option("-c,--config", a.configs, "YAML file of the run; several merge, later ones win")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("words", a.overrides, "a config key with its value; wins over files")
      ->type_name("KEY.PATH=VALUE");
  app.add_option("--set", words.set, "the same as an option")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
}

// Options that answer a question about the config instead of running.
void add_print_options(CLI::App& app, Arguments& a) {
  app.add_flag("--print-config", a.print_config,
               "print every value and where it came from, then exit");
  app.add_flag("--help-config", a.help_config, "print every config key, then exit");
}

// Options of subcommands that work on a run.
void add_config_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  app.add_option("-o,--output", words.output, "run directory; the same as output=DIR")
      ->type_name("DIR");
  app.add_option("--seed", words.seed, "the same as seed=N")->type_name("N");
  add_print_options(app, words.arguments);
}

// Options of subcommands that print progress.
void add_log_options(CLI::App& app, Arguments& a) {
  app.add_flag("-q,--quiet", a.quiet, "no progress on stderr; warnings and results stay");
  app.add_option("--log-level", a.log_level,
                 "which messages to print on stderr: this level and above")
      ->check(one_of_levels)
      ->type_name("info|warning|error");
}

}  // namespace spire
