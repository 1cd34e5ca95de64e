#include "tools/named_run.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/config/text.h"
#include "tools/streams.h"

namespace spire::tool {

namespace {

constexpr std::string_view kOutput = "output=";

std::vector<std::string> output_words(const Arguments& arguments) {
  std::vector<std::string> words;
  std::ranges::copy_if(arguments.overrides, std::back_inserter(words),
                       [](const std::string& word) { return word.starts_with(kOutput); });
  return words;
}

// The config of the checkpoint, under the keys of the command line.
ResolvedConfig own_config(const LoadedCheckpoint& checkpoint, const CheckpointLocator& named,
                          const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (output_words(arguments).empty() && !named.run().empty())
    overrides.push_back(std::string(kOutput) + yaml_word(named.run().string()));
  ResolvedConfig own = parse_config(
      {{"the config in " + checkpoint.path.string(), checkpoint.state.config_yaml}}, overrides);
  // What the run itself was warned of when it began is nothing new.
  std::erase_if(own.warnings,
                [](const std::string& warning) { return !warning.starts_with("command line"); });
  return own;
}

}  // namespace

std::optional<NamedRun> read_named_run(const Arguments& arguments,
                                       const std::optional<std::string>& name, Prefer prefer) {
  bool of_files = arguments.help_config || !arguments.configs.empty();
  NamedRun run;
  if (of_files) {
    auto resolved = read_config(arguments);
    if (!resolved) return {};
    run.resolved = std::move(*resolved);
  } else {
    run.resolved = parse_config({}, output_words(arguments));
  }
  const std::string& output = run.resolved.config.output;
  CheckpointLocator named(name.value_or(output), output, prefer);
  auto warn = [&](const std::filesystem::path&, const std::string& text) {
    if (arguments.log_level != "error") print_log("warning: {}\n", text);
  };
  bool may_begin = prefer == Prefer::newest && name == "auto";
  run.checkpoint = may_begin ? named.load_if_any(warn) : named.load(warn);
  if (of_files) return run;
  auto resolved = answer_print_config(run.checkpoint ? own_config(*run.checkpoint, named, arguments)
                                                     : load_config({}, arguments.overrides),
                                      arguments);
  if (!resolved) return {};
  run.resolved = std::move(*resolved);
  return run;
}

}  // namespace spire::tool
