#include "arguments.h"

#include <spire/base/error.h>
#include <spire/config/scalar.h>
#include <spire/config/schema.h>
#include <spire/config/text.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "commands.h"

namespace spire::tool {

namespace {

// What the options write before it becomes Arguments.
struct Raw {
  Arguments arguments;
  std::vector<std::string> set;  // --set
  std::string output, seed;
};

// Checks of option values: what is wrong, or nothing.
std::string positive_integer(const std::string& word) {
  try {
    return parse_integer(word) > 0 ? "" : fmt::format("expected at least 1, got {}", word);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string one_of_levels(const std::string& word) {
  bool known = word == "info" || word == "warning" || word == "error";
  return known ? "" : fmt::format("'{}' is none of info, warning, error", word);
}

void add_config_options(CLI::App& app, Raw& raw) {
  Arguments& a = raw.arguments;
  app.add_option("-c,--config", a.configs, "YAML file of the run; several merge, later ones win")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("words", a.overrides, "a config key with its value; wins over files")
      ->type_name("KEY.PATH=VALUE");
  app.add_option("--set", raw.set, "the same as an option")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("-o,--output", raw.output, "run directory; the same as output=DIR")
      ->type_name("DIR");
  app.add_option("--seed", raw.seed, "the same as seed=N")->type_name("N");
  app.add_flag("--print-config", a.print_config,
               "print every value and where it came from, then exit");
  app.add_flag("--help-config", a.help_config, "print every config key, then exit");
}

void add_log_options(CLI::App& app, Arguments& a) {
  app.add_flag("-q,--quiet", a.quiet, "no progress on stderr; warnings and results stay");
  app.add_option("--log-level", a.log_level, "least important message on stderr")
      ->check(one_of_levels)
      ->type_name("info|warning|error");
}

void add_train_options(CLI::App& app, Raw& raw) {
  Arguments& a = raw.arguments;
  add_config_options(app, raw);
  app.add_flag("--check", a.check, "validate config, data and devices, then exit");
  app.add_option("--resume", a.resume, "go on from a checkpoint; auto: the newest good one, if any")
      ->type_name("auto|PATH");
  app.add_flag("--overwrite", a.overwrite, "replace what a non-empty run directory holds");
  app.add_option("--dry-run", a.dry_run, "train N steps and write nothing")
      ->check(positive_integer)
      ->type_name("N");
  add_log_options(app, a);
}

void add_options(CLI::App& app, const Command& command, Raw& raw) {
  switch (command.options) {
    case Options::train:
      return add_train_options(app, raw);
    case Options::eval:
      add_config_options(app, raw);
      app.add_option("--resume,--checkpoint", raw.arguments.resume,
                     "checkpoint to evaluate; otherwise the run directory's best")
          ->type_name("PATH");
      return add_log_options(app, raw.arguments);
    case Options::config:
      return add_config_options(app, raw);
    case Options::verbose:
      app.add_flag("--verbose", raw.arguments.verbose, "build, libraries and GPU software too");
      return;
    case Options::none:
      return;
  }
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

bool is_command(const std::string& word) {
  return std::ranges::count(command_names(), word) > 0;
}

// --dry_run and --dry-run are one option; values keep their underscores.
void unify_dashes(std::vector<std::string>& words) {
  for (std::string& word : words) {
    if (word == "--") return;
    if (!word.starts_with("--")) continue;
    auto end = std::ranges::find(word, '=');
    std::replace(word.begin(), end, '_', '-');
  }
}

// --opt for what is no option of this subcommand.
[[noreturn]] void refuse_option(const CLI::App& app, const std::string& word) {
  std::string option = word.substr(0, word.find('='));
  std::string key = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::ranges::replace(key, '-', '_');
  if (find_field(key) != nullptr) {
    fail(Category::config, "{}: a config key is written without dashes: {}=VALUE", option, key);
  }
  std::vector<std::string> known;
  for (const CLI::Option* candidate : app.get_options()) {
    for (const std::string& name : candidate->get_lnames()) known.push_back("--" + name);
  }
  std::string near = nearest(option, known);
  fail(Category::config, "{}: unknown option of trainer {}; {}", option, app.get_name(),
       near.empty() ? fmt::format("trainer {} --help lists all", app.get_name())
                    : fmt::format("did you mean {}?", near));
}

void refuse_stray_words(const std::vector<std::string>& overrides) {
  for (const std::string& word : overrides) {
    if (word.find('=') != std::string::npos) continue;
    if (is_command(word)) {
      fail(Category::config, "{0}: a subcommand stands first: trainer {0} ...", word);
    }
    std::string near = nearest(word, command_names());
    if (word.ends_with(".yaml") || word.ends_with(".yml")) near = fmt::format("--config {}", word);
    fail(Category::config, "{}: neither a subcommand nor key.path=value{}", word,
         near.empty() ? "; trainer --help lists both" : fmt::format("; did you mean {}?", near));
  }
}

Arguments finish(Raw& raw, const CLI::App& app) {
  Arguments a = std::move(raw.arguments);
  a.command = app.get_name();
  refuse_stray_words(a.overrides);
  a.overrides.insert(a.overrides.end(), raw.set.begin(), raw.set.end());
  if (app.get_option_no_throw("--output") != nullptr && app.count("--output") > 0) {
    a.overrides.push_back("output=" + yaml_word(raw.output));
  }
  if (app.get_option_no_throw("--seed") != nullptr && app.count("--seed") > 0) {
    a.overrides.push_back("seed=" + raw.seed);
  }
  return a;
}

std::string general_help() {
  std::string text = "Spire trains neural networks on the devices of this machine.\n\n";
  text += "Usage: trainer [SUBCOMMAND] [OPTIONS] [KEY.PATH=VALUE ...]\n\nSubcommands:\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  }
  return text +
         "\ntrainer SUBCOMMAND --help lists the options; without a subcommand they are those of "
         "train.\n"
         "trainer --help-config lists the keys of a config.\n\n"
         "  trainer --config configs/fashion_mnist_cnn.yaml devices=cpu:2 epochs=3\n";
}

// Makes the subcommand the first word; false when only the general help is asked for.
bool put_command_first(std::vector<std::string>& words) {
  if (words.empty()) {
    fail(Category::config,
         "nothing to train: give --config FILE or key.path=value; see trainer --help");
  }
  if (words.front() == "--help" || words.front() == "-h" || words.front() == "help") return false;
  if (words.front() == "--version") words.front() = "version";
  if (!is_command(words.front())) words.insert(words.begin(), "train");
  return true;
}

}  // namespace

Arguments parse_arguments(std::vector<std::string> words) {
  unify_dashes(words);
  if (!put_command_first(words)) return {.help = general_help()};
  const Command& command = find_command(words.front());
  Raw raw;
  CLI::App app{std::string(command.summary), std::string(command.name)};
  app.allow_extras();
  add_options(app, command, raw);
  std::vector<std::string> reversed(words.rbegin(), words.rend() - 1);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return {.help = app.help("trainer")};
  } catch (const CLI::ParseError& error) {
    fail(Category::config, "{}; see trainer {} --help", error.what(), app.get_name());
  }
  for (const std::string& word : app.remaining()) {
    if (word.starts_with('-')) refuse_option(app, word);
    refuse_stray_words({word});
    fail(Category::config, "{}: trainer {} takes no config", word, app.get_name());
  }
  return finish(raw, app);
}

}  // namespace spire::tool
