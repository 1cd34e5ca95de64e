#include "tools/config_source.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/mman.h>

#include <unistd.h>

#include <spire/load_config.h>
#include <spire/world.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "tools/output/streams.h"

namespace spire {

namespace {

constexpr std::string_view output_prefix = "output=";

std::vector<std::string> output_words(const Arguments& arguments) {
  std::vector<std::string> words;
  std::ranges::copy_if(arguments.overrides, std::back_inserter(words),
                       [](const std::string& word) { return word.starts_with(output_prefix); });
  return words;
}

// Returns what the environment sets. A list needs no brackets there.
std::vector<ConfigText> environment_texts() {
  std::string value = process_environment()(devices_variable).value_or("");
  if (value.empty()) return {};
  bool is_number = value.find_first_not_of("0123456789") == value.npos;  // a GPU's, as in lists
  if (is_number) value = "cuda:" + value;
  std::string list = value.starts_with('[') ? value : "[" + value + "]";
  return {{.name = devices_variable, .text = "devices: " + list, .has_lines = false}};
}

// Returns the checkpoint's config, changed by the environment and the keys of the command line.
ResolvedConfig config_of(const Checkpoint& checkpoint, const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (output_words(arguments).empty() && !checkpoint.run().empty())
    overrides.push_back(std::string(output_prefix) + yaml_word(checkpoint.run().string()));
  std::string place = "the config in " + checkpoint.path().string();
  std::vector<ConfigText> texts = environment_texts();
  texts.insert(texts.begin(), {.name = place, .text = checkpoint.config_yaml()});
  ResolvedConfig config = parse_config(texts, overrides);
  // The run itself printed the warnings of its config when it began.
  std::erase_if(config.warnings,
                [&](const std::string& warning) { return warning.starts_with(place); });
  return config;
}

}  // namespace

std::vector<std::string> environment_devices() {
  std::vector<ConfigText> texts = environment_texts();
  return texts.empty() ? std::vector<std::string>() : parse_config(texts, {}).config.devices;
}

std::optional<ResolvedConfig> read_config(const Arguments& arguments) {
  if (arguments.help_config) {
    result_text(config_help());
    return {};
  }
  return answer_print_config(
      load_config(arguments.configs, arguments.overrides, environment_texts()), arguments);
}

std::optional<ResolvedConfig> answer_print_config(ResolvedConfig resolved,
                                                  const Arguments& arguments) {
  if (!arguments.print_config) return resolved;
  result_text(to_annotated_yaml(resolved));
  print_warnings(resolved);
  return {};
}

std::optional<NamedRun> read_named_run(const Arguments& arguments,
                                       const std::optional<std::string>& name,
                                       CheckpointChoice prefer) {
  bool of_files = arguments.help_config || !arguments.configs.empty();
  NamedRun run;
  if (of_files) {
    auto resolved = read_config(arguments);
    if (!resolved) return {};
    run.resolved = std::move(*resolved);
  } else {
    // To find the checkpoint the output directory is enough; its config has the rest.
    run.resolved = parse_config({}, output_words(arguments));
  }
  const std::string& output = run.resolved.config.output;
  std::string named = name.value_or(output);
  bool by_default = !of_files && !name && output_words(arguments).empty();
  std::error_code error;
  if (by_default && !std::filesystem::exists(output, error))
    fail(Category::config,
         "trainer {0}: no run is named, and {1} is not there: trainer {0} RUN ..., or --checkpoint "
         "RUN",
         arguments.command, output);
  // A run that goes on reads the checkpoint again, and warns then.
  bool warns = arguments.log_level != "error" && arguments.command != "train";
  auto warn = [&](const std::filesystem::path&, const std::string& text) {
    if (warns) print_log("warning: {}\n", text);
  };
  // --resume auto also begins a run that has no checkpoint yet.
  bool may_begin = prefer == CheckpointChoice::newest && name == "auto";
  run.checkpoint = may_begin ? find_checkpoint_if_any(named, output, prefer, warn)
                             : find_checkpoint(named, output, prefer, warn);
  if (of_files) return run;
  auto resolved = answer_print_config(
      run.checkpoint ? config_of(*run.checkpoint, arguments)
                     : load_config({}, arguments.overrides, environment_texts()),
      arguments);
  if (!resolved) return {};
  run.resolved = std::move(*resolved);
  return run;
}

namespace {

// What the columns of a trained model's table have of the config. Marks of empty fields are not
// among these: they only say which fields hold nothing.
constexpr std::string_view keys_of_reading[] = {"data.csv.decimal", "data.csv.dates",
                                                "data.csv.blanks", "data.csv.categories",
                                                "data.csv.max_levels"};

RunConfig trained_config(const Checkpoint& checkpoint) {
  std::string place = "the config in " + checkpoint.path().string();
  return parse_config({{.name = place, .text = checkpoint.config_yaml()}}, {}).config;
}

bool is_same_path(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || std::filesystem::equivalent(a, b, error);
}

}  // namespace

void refuse_other_reading(const NamedRun& run, const Arguments& arguments) {
  if (!run.checkpoint) return;
  for (const std::string& word : arguments.overrides) {
    std::string key = word.substr(0, word.find('='));
    if (std::ranges::find(keys_of_reading, key) == std::end(keys_of_reading)) continue;
    std::string asked = key_text(key, run.resolved.config);
    std::string trained = key_text(key, trained_config(*run.checkpoint));
    if (asked != trained)
      fail(Category::config,
           "command line: {0}: {1}: the run was trained with {0}: {2}, and its model reads tables "
           "as then; leave the word out, and write the table as that of the training, or train a "
           "run with {0}={1}",
           key, asked, trained);
  }
}

bool takes_other_data(const NamedRun& run, const Arguments& arguments) {
  auto says_share = [](const std::string& word) {
    std::string_view key = std::string_view(word).substr(0, word.find('='));
    return key.ends_with(".test_share") || key.ends_with(".val_share");
  };
  if (!run.checkpoint || std::ranges::any_of(arguments.overrides, says_share)) return false;
  DataConfig trained = trained_config(*run.checkpoint).data;
  const DataConfig& asked = run.resolved.config.data;
  return !is_same_path(asked.path, trained.path) ||
         !std::ranges::equal(asked.tokens.text, trained.tokens.text, is_same_path);
}

// The engine names keys; their places in files are known here.
std::string with_place(const std::string& message, const ResolvedConfig& resolved) {
  std::string path = message.substr(0, message.find(": "));
  while (!path.empty() && !resolved.source.contains(path))
    path.resize(path.rfind('.') == path.npos ? 0 : path.rfind('.'));
  if (path.empty()) return message;
  const std::string& place = resolved.source.at(path);
  if (place.starts_with(ConfigSnapshot::folder)) return message;
  bool has_place = place.find(':') != place.npos || place == devices_variable;  // "run.yaml:12:3"
  return has_place ? fmt::format("{}: {}", place, message) : message;
}

void print_warnings(const ResolvedConfig& resolved) {
  print_warnings(resolved.warnings);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) print_log("warning: {}\n", warning);
}

std::function<void(std::string_view line)> line_printer(const Arguments& arguments) {
  if (arguments.log_level == "error") return [](std::string_view) {};
  return [](std::string_view line) { print_log("{}\n", line); };
}

ConfigSnapshot::ConfigSnapshot(const ResolvedConfig& resolved)
    : descriptor_(memfd_create("config", 0)) {
  std::string text = to_yaml(resolved.config, defaulted_keys(resolved));
  // A memfd takes all of the text in one write, or none of it.
  if (write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail(Category::device, "no copy of the config can be made: {}", system_reason(errno));
}

std::string ConfigSnapshot::path() const {
  return fmt::format("{}{}", folder, int{descriptor_});
}

}  // namespace spire
