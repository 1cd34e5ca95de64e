#include "tools/audit/check_run.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <spire/load_config.h>

#include "engine/base/hash.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/config/text.h"
#include "engine/run/audit/audit_record.h"

namespace spire {
namespace {

struct WeightHashes {
  std::map<std::string, uint64_t> of;  // by name, as ParameterLayout::hashes() orders them
  uint64_t all = 0;                    // ParameterLayout::hash()
};

// Of weights and statistics. One tensor at a time is in memory.
WeightHashes hashes_of(const SavedTensors& tensors) {
  std::vector<TensorGroup> groups = tensors.groups();
  std::map<std::string, TensorPlace> places;
  for (TensorPlace place : model_tensors(tensors, false))
    places[groups[place.group].tensors[place.tensor].name] = place;
  WeightHashes hashes;
  for (const auto& [name, place] : places) {
    const Shape& shape = groups[place.group].tensors[place.tensor].shape;
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    tensors.read(place.group, place.tensor, 0, values);
    size_t bytes = values.size() * sizeof(float);
    hashes.of[name] = hash64(values.data(), bytes);
    hashes.all = hash64(values.data(), bytes, hash64(name.data(), name.size(), hashes.all));
  }
  return hashes;
}

// The hashes that the chain has of the weights behind a step; empty if it has none.
std::vector<uint64_t> recorded_weights(const AuditLog& log, int64_t step) {
  auto record = log.records.find(step);
  if (record != log.records.end() && !record->second.weights.empty()) return record->second.weights;
  auto root = log.roots.find(step);
  return root == log.roots.end() ? std::vector<uint64_t>() : root->second.weights;
}

std::string weights_problem(const std::vector<uint64_t>& recorded, const LoadedCheckpoint& saved) {
  WeightHashes found = hashes_of(*saved.tensors);
  if (!recorded.empty() && found.of.size() != recorded.size())
    return fmt::format("holds {} tensors, and the chain records {}", found.of.size(),
                       recorded.size());
  size_t at = 0;
  for (const auto& [name, hash] : found.of)
    if (!recorded.empty() && recorded[at++] != hash)
      return fmt::format("its weights {} are not those of the chain: {} and {}", name, hex(hash),
                         hex(recorded[at - 1]));
  if (hex(found.all) == saved.state.parameter_hash) return "";
  return fmt::format("says that the hash of its weights is {}, and it is {}",
                     saved.state.parameter_hash, hex(found.all));
}

// A config that says auto fits whatever it stands for: a replay computes with the root's.
std::string root_problem(const RecordedRoot& root, const StateMetadata& state) {
  if (!root.spec.empty() && digest({state.data_spec}) != root.spec)
    return "its columns or names of classes are not those of the chain's root";
  std::optional<RunConfig> config;
  try {
    config = parse_config({{"config", state.config_yaml}}, {}).config;
  } catch (const Error& error) {
    return fmt::format("its config: {}", error.what());
  }
  int64_t every = config->audit.weights_every_steps;
  if (every > 0 && root.weights_every > 0 && root.weights_every != every)
    return fmt::format("its config has audit.weights_every_steps: {}, and the chain's root {}",
                       every, root.weights_every);
  for (const auto& [key, value] : config_of(root)) {
    const Field* field = find_field(key);
    std::string text = field ? value_text(*field, *config) : value;
    if (text != value && text != "auto")
      return fmt::format("its config has {}: {}, and the chain's root {}", key, text, value);
  }
  return "";
}

// Of the steps until then, or of those behind, as a run that was resumed saves its state again.
std::string root_problem(const AuditLog& log, int64_t step, const StateMetadata& state) {
  const RecordedRoot *before = log.root_after(step - 1), *behind = log.root_after(step);
  std::string problem = before ? root_problem(*before, state) : "";
  if (behind == before || problem.empty()) return problem;
  return root_problem(*behind, state).empty() ? "" : problem;
}

// Names the first step that lacks the hashes of the weights which its root promises.
std::string hashes_problem(const AuditLog& log) {
  for (const auto& [step, record] : log.records) {
    const RecordedRoot* root = log.root_after(step - 1);
    if (!root || root->weights_every <= 0 || step % root->weights_every != 0) continue;
    if (record.weights.size() != root->weights.size())
      return fmt::format("step {}: the hashes of its weights are missing", step);
  }
  return "";
}

std::string checkpoint_problem(const AuditLog& log, int64_t step, const LoadedCheckpoint& saved) {
  if (saved.state.step != step) return fmt::format("is of step {}", saved.state.step);
  auto chain = ChainState::parse(saved.state.audit);
  auto value = log.values.find(step);
  if (!chain) return "holds no value of the chain";
  if (value == log.values.end()) return "is of a step that audit.jsonl does not have";
  auto root = log.roots.find(step);  // which may be younger than the checkpoint, or not
  bool follows_root = root != log.roots.end() && chain->value == root->second.value;
  if (!follows_root && chain->value != value->second)
    return fmt::format("holds the chain value {}, and audit.jsonl has {}: one of them was replaced",
                       chain->value, value->second);
  if (std::string problem = root_problem(log, step, saved.state); !problem.empty()) return problem;
  return weights_problem(recorded_weights(log, step), saved);
}

std::string checkpoint_problem(const AuditLog& log, int64_t step, const std::filesystem::path& path,
                               NumbersCheck& numbers) {
  try {
    LoadedCheckpoint saved = load_checkpoint(path);
    std::string problem = checkpoint_problem(log, step, saved);
    if (problem.empty()) numbers.take(saved.state);
    return problem;
  } catch (const Error& error) {
    if (error.category() != Category::checkpoint) throw;
    return error.what();
  }
}

}  // namespace

RunCheck check_run(const AuditLog& log, const RunRecords& run,
                   const std::vector<MetricsLine>& lines, const MetricsIndex& index) {
  RunCheck check;
  for (const std::string& problem : log.problems)
    check.problems.push_back("audit.jsonl: " + problem);
  if (std::string problem = hashes_problem(log); !problem.empty())
    check.problems.push_back("audit.jsonl: " + problem);
  RunCheck of_numbers;
  NumbersCheck numbers(log, run, lines, index, of_numbers);
  for (const auto& [step, path] : run.checkpoints) {
    std::string problem = checkpoint_problem(log, step, path, numbers);
    if (problem.empty())
      ++check.checkpoints;
    else
      check.problems.push_back(fmt::format("{}: {}", path.filename().string(), problem));
  }
  numbers.finish();
  std::ranges::move(of_numbers.problems, std::back_inserter(check.problems));
  check.metrics = of_numbers.metrics;
  return check;
}

}  // namespace spire
