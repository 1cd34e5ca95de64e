#include "tools/arguments.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/config/scalar.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"
#include "tools/commands.h"

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

auto integer_between(int64_t least, int64_t most) {
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

std::string one_of_levels(const std::string& word) {
  bool known = word == "info" || word == "warning" || word == "error";
  return known ? "" : fmt::format("must be info, warning or error, got '{}'", word);
}

void add_key_options(CLI::App& app, Raw& raw) {
  Arguments& a = raw.arguments;
  app.add_option("-c,--config", a.configs, "YAML file of the run; several merge, later ones win")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("words", a.overrides, "a config key with its value; wins over files")
      ->type_name("KEY.PATH=VALUE");
  app.add_option("--set", raw.set, "the same as an option")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
}

void add_print_options(CLI::App& app, Arguments& a) {
  app.add_flag("--print-config", a.print_config,
               "print every value and where it came from, then exit");
  app.add_flag("--help-config", a.help_config, "print every config key, then exit");
}

void add_config_options(CLI::App& app, Raw& raw) {
  add_key_options(app, raw);
  app.add_option("-o,--output", raw.output, "run directory; the same as output=DIR")
      ->type_name("DIR");
  app.add_option("--seed", raw.seed, "the same as seed=N")->type_name("N");
  add_print_options(app, raw.arguments);
}

void add_log_options(CLI::App& app, Arguments& a) {
  app.add_flag("-q,--quiet", a.quiet, "no progress on stderr; warnings and results stay");
  app.add_option("--log-level", a.log_level,
                 "which messages to print on stderr: this level and above")
      ->check(one_of_levels)
      ->type_name("info|warning|error");
}

void add_train_options(CLI::App& app, Raw& raw) {
  Arguments& a = raw.arguments;
  add_config_options(app, raw);
  auto* check = app.add_flag("--check", a.check, "validate config, data and devices, then exit");
  app.add_flag("--deep", a.deep, "with --check: read every sample once, and name the broken ones")
      ->needs(check);
  app.add_option("--resume", a.resume,
                 "go on from a checkpoint: a run's directory (its newest), a file, best or latest "
                 "of the run in output; auto: the newest good one, if any. Without --config with "
                 "the config of that run")
      ->type_name("auto|RUN|FILE|best|latest");
  app.add_flag("--overwrite", a.overwrite, "delete what earlier runs left in the run directory");
  app.add_option("--dry-run", a.dry_run,
                 "train N steps, evaluate N batches at most and write nothing")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--processes", a.processes, "start N processes here that train as one run")
      ->check(integer_between(1, 4096))
      ->type_name("N");
  app.add_option("--max-restarts", a.max_restarts,
                 "when a process dies or hangs, restart from the newest checkpoint, up to M times")
      ->check(integer_between(0, 1'000'000))
      ->type_name("M");
  add_log_options(app, a);
}

void add_predict_options(CLI::App& app, Arguments& a) {
  PredictArguments& p = a.predict;
  app.add_option("--checkpoint", p.checkpoint,
                 "a run's directory (its best), a checkpoint file, or best or latest of the run in "
                 "output=DIR")
      ->required()
      ->type_name("RUN|FILE|best|latest");
  app.add_option(
         "words", a.overrides,
         "what to predict for: images (JPEG, PNG), folders of them, IDX or CSV files; "
         "without any: the run's test data. A word KEY.PATH=VALUE changes a config key, "
         "such as data.path of the test data; for a file whose name looks like that, write ./NAME")
      ->type_name("INPUT");
  app.add_option("--device", p.device, "where to compute: cpu, or a GPU such as cuda:0")
      ->type_name("DEVICE");
  app.add_option("--batch", p.batch, "samples computed at a time")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--count", p.count, "predict only the first N samples; otherwise all")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--on-error", p.on_error,
                 "an input, or a row of one, that cannot be read stops the command (the default), "
                 "or is skipped")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->type_name("stop|skip");
  app.add_option("--format", p.format, "format of class probabilities and values")
      ->check(CLI::IsMember({"csv", "json"}))
      ->type_name("csv|json");
  app.add_option("--to", p.to, "file to write; for images the folder, ./predictions by default")
      ->type_name("PATH");
  app.add_flag("--overwrite", a.overwrite, "replace files that are there and hold something");
  auto* prompt = app.add_option("--prompt", p.prompt, "language models: the text to continue");
  prompt->type_name("TEXT");
  app.add_option(
         "--prompt-file", p.prompt_file,
         "language models: file with the text to continue, without its last newline; -: stdin")
      ->excludes(prompt)
      ->type_name("FILE");
  app.add_option("--tokens", p.tokens, "language models: tokens to generate")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--temperature", p.temperature,
                 "language models: temperature of sampling; 0: always the most likely token")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("X");
  app.add_option("--top-k", p.top_k,
                 "language models: sample from the K most likely tokens; 0: from all")
      ->check(integer_between(0, 1'000'000))
      ->type_name("K");
  add_log_options(app, a);
}

constexpr const char* data_footer =
    "The dataset is given as for train, by data.name, data.path and the other keys of "
    "data\n(trainer --help-config). docs/formats.md describes the files.\n";

void add_convert_options(CLI::App& app, Raw& raw) {
  Arguments& a = raw.arguments;
  add_key_options(app, raw);
  app.add_option("--to", a.dataset.to,
                 "hdf5: the file, *.h5 or *.hdf5, else the folder of data.h5; tokens: the folder")
      ->type_name("PATH");
  app.add_option("--format", a.dataset.format, "format to write; auto: tokens for text, else hdf5")
      ->check(CLI::IsMember({"auto", "hdf5", "tokens"}))
      ->type_name("hdf5|tokens");
  app.add_option("--order", a.dataset.order,
                 "hdf5: order of the training rows; auto: shuffled by the seed for image_folder, "
                 "else source")
      ->check(CLI::IsMember({"auto", "source", "shuffled"}))
      ->type_name("source|shuffled");
  app.add_option("--shard-tokens", a.dataset.shard_tokens, "most tokens in one shard")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--seed", raw.seed, "seed of the order; the same as seed=N")->type_name("N");
  app.add_flag("--overwrite", a.overwrite,
               "replace an existing result, and start again if the source has changed");
  add_print_options(app, a);
  add_log_options(app, a);
  app.footer(std::string(data_footer) +
             "Images become bytes: those of image_folder the middle 7/8 of the shorter side, at\n"
             "data.image.size (224). Until it is whole the result is called PATH.partial; after\n"
             "Ctrl+C or a kill the same command goes on there and makes the same bytes.\n\n"
             "  trainer dataset convert data.name=image_folder data.path=imagenet data.workers=8 "
             "--to imagenet.h5\n"
             "  trainer dataset convert data.name=tokens data.tokens.text=[a.txt,b.txt] "
             "data.tokens.vocabulary=gpt2 --to shards\n");
}

void add_inspect_options(CLI::App& app, Raw& raw) {
  add_key_options(app, raw);
  app.add_option("--format", raw.arguments.dataset.format, "a table for people, or one JSON object")
      ->check(CLI::IsMember({"auto", "table", "json"}))
      ->type_name("table|json");
  add_print_options(app, raw.arguments);
  app.footer(data_footer);
}

void add_verify_options(CLI::App& app, Raw& raw) {
  add_key_options(app, raw);
  add_print_options(app, raw.arguments);
  add_log_options(app, raw.arguments);
  app.footer(std::string(data_footer) +
             "Names the first 20 bad rows by file and place. Exit code: 0 if all rows are good, "
             "else 4.\n");
}

void add_options(CLI::App& app, const Command& command, Raw& raw) {
  switch (command.options) {
    case Options::train:
      return add_train_options(app, raw);
    case Options::eval:
      add_config_options(app, raw);
      app.add_option(
             "--resume,--checkpoint", raw.arguments.resume,
             "what to evaluate: a run's directory (its best), a checkpoint file, or best or "
             "latest of the run in output; without this option: the best of the run in output. "
             "Without --config with the "
             "config of that run")
          ->type_name("RUN|FILE|best|latest");
      return add_log_options(app, raw.arguments);
    case Options::predict:
      app.add_option("--seed", raw.seed, "seed of generated text; the same as seed=N")
          ->type_name("N");
      return add_predict_options(app, raw.arguments);
    case Options::plan:
      add_config_options(app, raw);
      app.add_option("--gpu", raw.arguments.gpu,
                     "instead, estimate the time of a tower's step on a GPU from operations and "
                     "bytes; the GPU need not be here: h100, a100, l4 or rtx4090")
          ->type_name("NAME");
      return;
    case Options::convert:
      return add_convert_options(app, raw);
    case Options::inspect:
      return add_inspect_options(app, raw);
    case Options::verify:
      return add_verify_options(app, raw);
    case Options::devices:
      app.add_flag("--probe", raw.arguments.probe,
                   "test each GPU by writing and reading its memory; exit code 8 if one fails");
      return;
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
    fail(Category::config, "{}: is a config key, which is written without dashes: {}=VALUE", option,
         key);
  }
  std::vector<std::string> known;
  for (const CLI::Option* candidate : app.get_options()) {
    for (const std::string& name : candidate->get_lnames()) known.push_back("--" + name);
  }
  std::string near = nearest(option, known);
  fail(Category::config, "{}: unknown option of trainer {}{}", option, app.get_name(),
       near.empty() ? fmt::format("; trainer {} --help lists the options", app.get_name())
                    : did_you_mean(near));
}

void refuse_stray_words(const std::vector<std::string>& overrides) {
  for (const std::string& word : overrides) {
    if (word.find('=') != std::string::npos) continue;
    if (is_command(word)) {
      fail(Category::config, "{0}: a subcommand must be the first word: trainer {0} ...", word);
    }
    std::string near = nearest(word, command_names());
    if (word.ends_with(".yaml") || word.ends_with(".yml")) near = fmt::format("--config {}", word);
    fail(Category::config, "'{}' is neither a subcommand nor of the form KEY.PATH=VALUE{}", word,
         near.empty() ? "; trainer --help lists the subcommands, trainer --help-config the keys"
                      : did_you_mean(near));
  }
}

// Of predict's words those that look like KEY.PATH=VALUE are that; the others are inputs.
void part_inputs(Arguments& a) {
  auto is_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  auto is_input = [&](const std::string& word) {
    size_t equals = word.find('=');
    return equals == word.npos || !std::ranges::all_of(word.substr(0, equals), is_key);
  };
  std::ranges::copy_if(a.overrides, std::back_inserter(a.predict.inputs), is_input);
  std::erase_if(a.overrides, is_input);
}

Arguments finish(Raw& raw, const CLI::App& app) {
  Arguments a = std::move(raw.arguments);
  a.command = app.get_name();
  if (a.command == "predict") part_inputs(a);
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
    text += fmt::format("  {:<16} {}\n", command.name, command.summary);
  }
  return text +
         "\ntrainer SUBCOMMAND --help lists the options; without a subcommand they are those of "
         "train.\ntrainer --help-config lists the keys of a config.\n\n  trainer --config "
         "configs/fashion_mnist_cnn.yaml devices=2xcpu epochs=3\n";
}

// "dataset", "convert" become "dataset convert": a subcommand of two words is then one.
void join_two_words(std::vector<std::string>& words) {
  std::vector<std::string> seconds;
  for (const std::string& name : command_names())
    if (name.starts_with(words.front() + " "))
      seconds.push_back(name.substr(words.front().size() + 1));
  if (seconds.empty()) return;
  std::string second = words.size() > 1 ? words[1] : "";
  if (std::ranges::count(seconds, second) == 0) {
    fail(Category::config, "trainer {0}: expected one of {1} after {0}, got '{2}'{3}",
         words.front(), fmt::join(seconds, ", "), second, did_you_mean(nearest(second, seconds)));
  }
  words[1] = words[0] + " " + second;
  words.erase(words.begin());
}

// Makes the subcommand the first word; false when only the general help is asked for.
bool put_command_first(std::vector<std::string>& words) {
  if (words.empty()) {
    fail(Category::config,
         "there is nothing to train; give --config FILE or KEY.PATH=VALUE, see trainer --help");
  }
  if (words.front() == "--help" || words.front() == "-h" || words.front() == "help") return false;
  if (words.front() == "--version") words.front() = "version";
  join_two_words(words);
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
    fail(Category::config, "'{}' is not expected: trainer {} takes no config; leave it out", word,
         app.get_name());
  }
  return finish(raw, app);
}

}  // namespace spire::tool
