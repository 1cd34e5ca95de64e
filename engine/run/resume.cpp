#include "engine/run/resume.h"

#include <charconv>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include <spire/checkpoint.h>
#include <spire/load_config.h>

#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/config/check.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"
#include "engine/data/dataset.h"
#include "engine/data/sample.h"
#include "engine/run/audit/bit_keys.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

bool decides_what_is_best(const Field& field) {
  return field.path.starts_with("best.") || field.path.starts_with("data.val.");
}

ResumePoint read_resume_point(const RunConfig& config, const RunOptions& options,
                              Observer& observer) {
  ResumePoint found;
  auto warn = [&](const fs::path&, const std::string& text) { observer.on_warning(text); };
  if (options.checkpoint != nullptr) {
    found.checkpoint = *options.checkpoint;
  } else {
    auto load = *options.resume == "auto" ? load_named_if_any : load_named;
    found.checkpoint =
        load(*options.resume, config.output, CheckpointChoice::newest, warn).checkpoint;
  }
  // By inode, not by name: the user may give another path to the same folder.
  std::error_code error;
  found.in_output =
      found.checkpoint && fs::equivalent(fs::absolute(found.checkpoint->path).parent_path(),
                                         fs::path(config.output) / "checkpoints", error);
  return found;
}

// Message to the other ranks: "<in_output> <path>", the bytes of the data's description and of the
// guard's state, these two, then the metadata. Empty: there is no checkpoint.
std::string to_message(const ResumePoint& found) {
  if (!found.checkpoint) return "";
  const StateMetadata& state = found.checkpoint->state;
  return fmt::format("{} {}\n{} {}\n{}{}{}", found.in_output ? 1 : 0,
                     found.checkpoint->path.string(), state.data_spec.size(), state.guard.size(),
                     state.data_spec, state.guard, metadata_text(state));
}

ResumePoint from_message(const std::string& text) {
  ResumePoint found;
  if (text.empty()) return found;
  LoadedCheckpoint& checkpoint = found.checkpoint.emplace();
  // The description of the data may have any characters, hence its size before it.
  size_t line = text.find('\n');
  found.in_output = text[0] == '1';
  checkpoint.path = text.substr(2, line - 2);
  size_t spec = text.find('\n', line + 1) + 1, second = text.find(' ', line + 1) + 1;
  checkpoint.state.data_spec = text.substr(spec, std::stoul(text.substr(line + 1)));
  size_t guard = spec + checkpoint.state.data_spec.size();
  checkpoint.state.guard = text.substr(guard, std::stoul(text.substr(second)));
  read_metadata_text(text.substr(guard + checkpoint.state.guard.size()), checkpoint.state);
  return found;
}

}  // namespace

std::optional<RunConfig> recorded_config(const StateMetadata& state) {
  try {
    return parse_config({{"config", state.config_yaml}}, {}).config;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// A value of another metric or of other validation data says nothing about those to come: what is
// best is found anew, from an evaluation of the resumed weights on, if one was due there.
void forget_best_of_others(RunConfig config, Metric task_metric, LoadedCheckpoint& checkpoint,
                           Observer& observer) {
  StateMetadata& state = checkpoint.state;
  if (state.best_step < 0 && state.early_stop.waited < 0) return;
  std::optional<RunConfig> before = recorded_config(state);
  if (!before) return;
  // What auto stands for is no other metric.
  for (RunConfig* each : {&config, &*before}) settle_best(task_metric, each->best);
  std::vector<std::string> changes;
  for (const Field& field : schema()) {
    if (!decides_what_is_best(field)) continue;
    std::string was = value_text(field, *before), is = value_text(field, config);
    if (is != was) changes.push_back(fmt::format("{} is {}, was {}", field.path, is, was));
  }
  if (changes.empty()) return;
  state.best_step = state.evaluated_step = -1;
  state.early_stop = {};
  observer.on_warning(fmt::format(
      "{}: evaluations before {} no longer count; the best checkpoint, and when to stop "
      "early, follow from those of now on",
      fmt::join(changes, "; "), checkpoint.path.string()));
}

int64_t recorded_global_batch(const StateMetadata& state) {
  std::string text = top_level_value(state.config_yaml, "global_batch");
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool recorded = error == std::errc() && end == text.data() + text.size() && number > 0;
  return recorded ? number : state.towers * state.batch_size;
}

bool split_may_change(const RunConfig& config, const StateMetadata& state) {
  return config.precision == RunConfig::Precision::exact &&
         top_level_value(state.config_yaml, "precision") == "exact";
}

ResumePoint find_resume_point(const RunConfig& config, const RunOptions& options,
                              const RankGroup& ranks, Observer& observer) {
  ResumePoint found;
  if (options.dry_run == 0 && options.resume && ranks.is_first())
    found = read_resume_point(config, options, observer);
  // A run of several ranks resumes from what rank 0 sees: other hosts may lack the folder.
  if (ranks.group()) {
    std::string text = ranks.broadcast(to_message(found));
    if (!ranks.is_first()) found = from_message(text);
  }
  if (options.overwrite && (found.in_output || options.resume == "auto")) {
    fail(Category::config,
         "--overwrite deletes the run from which --resume continues; give only one of them");
  }
  return found;
}

namespace {

// The run's global batch stays; batch_size follows from it and from the towers. given: 0 if none
// is.
void divide_anew(int64_t global_batch, int64_t given, RunConfig& config, Observer& observer) {
  config.global_batch = global_batch;
  config.batch_size = 0;
  settle_batch(config, *config.towers);
  if (given != 0 && given != config.batch_size)
    observer.on_warning(fmt::format(
        "batch_size is {}, not {}: with precision: exact a resumed run keeps its global batch of "
        "{}, here over {}",
        config.batch_size, given, global_batch, counted(*config.towers, "tower")));
}

}  // namespace

void keep_settings(const LoadedCheckpoint& checkpoint, const RunOptions& options, RunConfig& config,
                   Observer& observer) {
  const StateMetadata& state = checkpoint.state;
  auto take = [&](const char* key, auto& asked, auto kept) {
    if (options.defaulted_keys.contains(key)) asked = kept;
  };
  auto compare = [&](const char* key, auto asked, auto kept) {
    if (asked == kept || options.evaluates) return;
    fail(Category::config,
         "{}: {}, but the run of {} has {}; use the same, or start a new run in another directory "
         "with --output",
         key, asked, checkpoint.path.string(), kept);
  };
  // Another seed, batch size or number of towers would be another run.
  int64_t global_batch = recorded_global_batch(state);
  take("seed", config.seed, state.seed);
  compare("seed", config.seed, state.seed);
  // As settle_batch() takes it: batch_size follows where only global_batch was given.
  bool follows =
      options.defaulted_keys.contains("batch_size") || (config.global_batch && !config.towers);
  if (!config.towers) config.towers = state.towers;
  if (split_may_change(config, state) && !options.evaluates) {
    compare("global_batch", config.global_batch.value_or(global_batch), global_batch);
    return divide_anew(global_batch, follows ? 0 : config.batch_size, config, observer);
  }
  compare("towers", *config.towers, state.towers);
  if (config.global_batch) {
    if (follows) config.batch_size = 0;
  } else {
    take("batch_size", config.batch_size, state.batch_size);
    if (config.batch_size == 0) config.batch_size = state.batch_size;  // auto chose at its start
    bool same = *config.towers == state.towers && config.batch_size == state.batch_size;
    if (same) config.global_batch = global_batch;
  }
  settle_batch(config, *config.towers);
  compare("batch_size", config.batch_size, state.batch_size);
  compare("global_batch", *config.global_batch, global_batch);
}

std::shared_ptr<const SampleSpec> trained_spec(const LoadedCheckpoint& checkpoint) {
  const std::string& known = checkpoint.state.data_spec;
  return known.empty() ? nullptr : std::make_shared<SampleSpec>(sample_spec_from_text(known));
}

DatasetPair fit_to_checkpoint(DatasetPair data, const LoadedCheckpoint& checkpoint, bool classes) {
  auto known = trained_spec(checkpoint);
  if (!known) {
    data.notes.push_back(fmt::format(
        "{} does not say what data it was trained on; see to it that classes and columns are the "
        "same in the same order",
        checkpoint.path.string()));
    return data;
  }
  return match_trained_schema(std::move(data), *known, checkpoint.path.string(), classes);
}

Checkpoint::Checkpoint(LoadedCheckpoint loaded, std::filesystem::path run)
    : loaded_(std::make_shared<LoadedCheckpoint>(std::move(loaded))), run_(std::move(run)) {}

const std::filesystem::path& Checkpoint::path() const {
  return loaded_->path;
}

int64_t Checkpoint::step() const {
  return loaded_->state.step;
}

const std::string& Checkpoint::config_yaml() const {
  return loaded_->state.config_yaml;
}

SampleSpec Checkpoint::data() const {
  return sample_spec_from_text(loaded_->state.data_spec);
}

Checkpoint find_checkpoint(const std::string& name, const std::filesystem::path& output,
                           CheckpointChoice prefer, const OnDamagedFile& on_damaged) {
  NamedCheckpoint named = load_named(name, output, prefer, on_damaged);
  return {std::move(*named.checkpoint), named.run};
}

std::optional<Checkpoint> find_checkpoint_if_any(const std::string& name,
                                                 const std::filesystem::path& output,
                                                 CheckpointChoice prefer,
                                                 const OnDamagedFile& on_damaged) {
  NamedCheckpoint named = load_named_if_any(name, output, prefer, on_damaged);
  if (!named.checkpoint) return {};
  return Checkpoint(std::move(*named.checkpoint), named.run);
}

}  // namespace spire
