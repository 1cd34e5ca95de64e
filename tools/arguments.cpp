#include "tools/arguments.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "tools/commands.h"

namespace spire {

namespace {

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

bool is_command(const std::string& word) {
  return std::ranges::count(command_names(), word) > 0;
}

// Replaces underscores in option names: --dry_run is --dry-run. Values keep theirs.
void unify_dashes(std::vector<std::string>& words) {
  for (std::string& word : words) {
    if (word == "--") return;
    if (!word.starts_with("--")) continue;
    auto end = std::ranges::find(word, '=');
    std::replace(word.begin(), end, '_', '-');
  }
}

// Returns the config key that an option without its dashes names in full, by its last part alone,
// or in another program's words; else "".
std::string key_of_option(std::string name) {
  std::ranges::replace(name, '-', '_');
  return find_key(name);
}

// Returns the value that was typed for an option: behind its =, or the next word.
std::string value_of_option(const std::string& word, const std::vector<std::string>& words) {
  if (size_t equals = word.find('='); equals != word.npos) return word.substr(equals + 1);
  auto at = std::ranges::find(words, word);
  bool has_value = at != words.end() && at + 1 != words.end() && !(at + 1)->starts_with("--") &&
                   (at + 1)->find('=') == std::string::npos;
  return has_value ? *(at + 1) : "VALUE";
}

// Throws for an unknown option among `words`, with the config key or the option that is nearest.
[[noreturn]] void refuse_option(const CLI::App& app, const std::string& word,
                                const std::vector<std::string>& words) {
  std::string option = word.substr(0, word.find('='));
  std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  if (std::string key = key_of_option(name); !key.empty()) {
    fail(Category::config, "{}: is a config key, which is written without dashes: {}={}", option,
         key, value_of_option(word, words));
  }
  std::vector<std::string> known;
  for (const CLI::Option* candidate : app.get_options()) {
    for (const std::string& each : candidate->get_lnames()) known.push_back("--" + each);
  }
  std::string near = nearest(option, known);
  fail(Category::config, "{}: unknown option of trainer {}{}", option, app.get_name(),
       near.empty() ? fmt::format("; trainer {} --help lists the options", app.get_name())
                    : did_you_mean(near));
}

// Tells whether values of an option are paths, by what its help calls them: "RUN|FILE|best|latest".
bool takes_paths(const CLI::Option& option) {
  constexpr std::array<std::string_view, 6> kinds = {"DIR",  "FILE", "INPUT",
                                                     "PATH", "RUN",  "RUN..."};
  std::string names = option.get_type_name();
  std::ranges::replace(names, ' ', '|');
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, '|');)
    if (std::ranges::count(kinds, name) > 0 || name.starts_with("RUN_") || name.ends_with(".json"))
      return true;
  return false;
}

// The shell replaces a ~ at the head of a word only, not behind --output=.
void expand_homes(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (takes_paths(*option)) option->transform(expand_home);
}

// Returns the subcommand that somebody means who writes another program's word, or mistypes it.
std::string nearest_command(const std::string& word) {
  static const std::map<std::string, std::string> of_others = {{"benchmark", "bench"},
                                                               {"convert", "dataset convert"},
                                                               {"evaluate", "eval"},
                                                               {"fit", "train"},
                                                               {"generate", "predict"},
                                                               {"infer", "predict"},
                                                               {"inference", "predict"},
                                                               {"info", "version --verbose"},
                                                               {"inspect", "dataset inspect"},
                                                               {"profile", "bench"},
                                                               {"sample", "predict"},
                                                               {"score", "eval"},
                                                               {"serve", "train --serve"},
                                                               {"test", "eval"},
                                                               {"tune", "sweep"},
                                                               {"val", "eval"},
                                                               {"validate", "eval"}};
  auto found = of_others.find(word);
  return found == of_others.end() ? nearest(word, command_names()) : found->second;
}

// Throws for a word that is no KEY.PATH=VALUE.
void refuse_stray_words(const std::vector<std::string>& overrides) {
  for (const std::string& word : overrides) {
    if (word.find('=') != std::string::npos) continue;
    if (is_command(word)) {
      fail(Category::config, "{0}: a subcommand must be the first word: trainer {0} ...", word);
    }
    std::string near = nearest_command(word);
    if (word.ends_with(".yaml") || word.ends_with(".yml")) near = fmt::format("--config {}", word);
    fail(Category::config, "'{}' is neither a subcommand nor of the form KEY.PATH=VALUE{}", word,
         near.empty() ? "; trainer --help lists the subcommands, trainer --help-config the keys"
                      : did_you_mean(near));
  }
}

// Whether the word does not look like KEY.PATH=VALUE.
bool is_path(const std::string& word) {
  auto is_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  size_t equals = word.find('=');
  return equals == word.npos || !std::ranges::all_of(word.substr(0, equals), is_key);
}

// Without the option --checkpoint the first path names the run. `eval` has one in any case.
void take_run(Arguments& a) {
  bool evaluates = a.command == "eval";
  std::string& named = a.command == "export" ? a.exported.checkpoint : a.predict.checkpoint;
  if (evaluates ? a.resume.has_value() : !named.empty()) return;
  auto run = std::ranges::find_if(a.overrides, is_path);
  if (run == a.overrides.end()) {
    if (evaluates) return;
    fail(Category::config, "trainer {0}: no run is named: trainer {0} RUN ..., or --checkpoint RUN",
         a.command);
  }
  (evaluates ? a.resume.emplace() : named) = expand_home(*run);
  a.overrides.erase(run);
}

// Moves the paths among the words of predict to its inputs.
void move_inputs(Arguments& a) {
  for (const std::string& word : a.overrides)
    if (is_path(word)) a.predict.inputs.push_back(expand_home(word));
  std::erase_if(a.overrides, is_path);
}

void refuse_any_words(const Arguments& a) {
  if (a.overrides.empty()) return;
  fail(Category::config, "'{}' is not expected: trainer {} takes no config; leave it out",
       a.overrides[0], a.command);
}

// init writes the config: of the keys it takes those that say how the data is read.
void take_data_words(Arguments& a) {
  for (const std::string& word : a.overrides) {
    if (word.starts_with("data.") && word.find('=') != word.npos) continue;
    fail(Category::config,
         "'{}' is not expected: trainer init takes data.KEY=VALUE alone; write other keys into the "
         "config that it prints{}",
         word, is_path(word) ? fmt::format(", and name the data by --data {}", word) : "");
  }
  a.init.words = std::move(a.overrides);
  a.overrides.clear();
}

// Moves --set, --output, --serve and --seed to the overrides, where the last word wins.
Arguments finish(ParsedWords& parsed, const CLI::App& app) {
  Arguments a = std::move(parsed.arguments);
  a.command = app.get_name();
  if (a.command == "eval" || a.command == "predict" || a.command == "export") take_run(a);
  if (a.command == "predict") move_inputs(a);
  if (a.command == "export") refuse_any_words(a);
  if (a.command == "init") take_data_words(a);
  refuse_stray_words(a.overrides);
  a.overrides.insert(a.overrides.end(), parsed.set.begin(), parsed.set.end());
  if (parsed.output) {
    a.overrides.push_back("output=" + yaml_word(*parsed.output));
  }
  if (parsed.serve) a.overrides.push_back("monitor.serve=" + yaml_word(*parsed.serve));
  if (app.get_option_no_throw("--seed") != nullptr && app.count("--seed") > 0) {
    a.overrides.push_back("seed=" + parsed.seed);
  }
  return a;
}

std::string general_help() {
  std::string text = "Spire trains neural networks on the devices of this machine.\n\n";
  text += "Usage: trainer [SUBCOMMAND] [OPTIONS] [KEY.PATH=VALUE ...]\n\nSubcommands:\n";
  for (const Command& command : commands()) {
    if (command.summary.empty()) continue;  // the program itself calls it
    text += fmt::format("  {:<16} {}\n", command.name, command.summary);
  }
  return text +
         "\ntrainer SUBCOMMAND --help lists the options; without a subcommand they are those of "
         "train.\ntrainer --help-config lists the keys of a config.\n\n  trainer --config "
         "configs/fashion_mnist_cnn.yaml devices=2xcpu epochs=3\n";
}

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

// The second words of subcommands that share this first one: convert, ... of dataset.
std::vector<std::string> second_words(const std::string& first) {
  std::vector<std::string> seconds;
  for (const std::string& name : command_names())
    if (name.starts_with(first + " ")) seconds.push_back(name.substr(first.size() + 1));
  return seconds;
}

// Help of the subcommands that share a first word: `trainer dataset --help`.
std::string help_of_group(const std::string& first) {
  std::string text = fmt::format("Usage: trainer {} SUBCOMMAND [OPTIONS] ...\n\n", first);
  for (const std::string& second : second_words(first)) {
    std::string name = first + " " + second;
    text += fmt::format("  {:<16} {}\n", name, find_command(name).summary);
  }
  return text + fmt::format("\ntrainer {} SUBCOMMAND --help lists the options.\n", first);
}

// Joins the words of a subcommand: "dataset", "convert" become "dataset convert".
void join_two_words(std::vector<std::string>& words) {
  std::vector<std::string> seconds = second_words(words.front());
  if (seconds.empty()) return;
  std::string second = words.size() > 1 ? words[1] : "";
  if (std::ranges::count(seconds, second) == 0) {
    fail(Category::config, "trainer {0}: expected one of {1} after {0}, got '{2}'{3}",
         words.front(), fmt::join(seconds, ", "), second, did_you_mean(nearest(second, seconds)));
  }
  words[1] = words[0] + " " + second;
  words.erase(words.begin());
}

// The help that several subcommands have in common, where that is asked for.
std::optional<std::string> common_help(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (asks_for_help(words[0])) return general_help();
  bool group = words.size() > 1 && asks_for_help(words[1]) && !second_words(words[0]).empty();
  if (!group) return {};
  return help_of_group(words[0]);
}

// Makes the subcommand the first word.
void put_command_first(std::vector<std::string>& words) {
  if (words.empty()) {
    fail(Category::config,
         "there is nothing to train; give --config FILE or KEY.PATH=VALUE, see trainer --help");
  }
  if (words.front() == "--version") words.front() = "version";
  join_two_words(words);
  if (is_command(words.front())) return;
  if (!words.front().starts_with('-')) refuse_stray_words({words.front()});
  words.insert(words.begin(), "train");
}

}  // namespace

Arguments parse_arguments(std::vector<std::string> words) {
  std::string typed = fmt::format("trainer {}", fmt::join(words, " "));
  unify_dashes(words);
  if (auto help = common_help(words)) return {.help = *help};
  put_command_first(words);
  const Command& command = find_command(words.front());
  ParsedWords parsed;
  parsed.arguments.typed = std::move(typed);
  CLI::App app{std::string(command.summary), std::string(command.name)};
  app.allow_extras();
  command.add_options(app, parsed);
  expand_homes(app);
  // CLI11 takes the words in reverse order, without the subcommand.
  std::vector<std::string> reversed(words.rbegin(), words.rend() - 1);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return {.help = app.help("trainer")};
  } catch (const CLI::ParseError& error) {
    fail(Category::config, "{}; see trainer {} --help", error.what(), app.get_name());
  }
  for (const std::string& word : app.remaining()) {
    if (word.starts_with('-')) refuse_option(app, word, words);
    refuse_stray_words({word});
    fail(Category::config, "'{}' is not expected: trainer {} takes no config; leave it out", word,
         app.get_name());
  }
  return finish(parsed, app);
}

}  // namespace spire
