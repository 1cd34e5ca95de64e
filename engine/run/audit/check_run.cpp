#include "engine/run/audit/check_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <spire/text.h>

#include "engine/base/hash.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/run/audit/chain.h"

namespace spire::inline run {
namespace {

constexpr size_t piece = size_t{1} << 20;  // floats that are read at a time

uint64_t hash_of(const SavedTensors& tensors, TensorPlace place, int64_t elements) {
  Hash64 hash;
  std::vector<float> values(std::min(piece, static_cast<size_t>(elements)));
  for (int64_t begin = 0; begin < elements; begin += std::ssize(values)) {
    std::span part(values.data(), std::min(values.size(), static_cast<size_t>(elements - begin)));
    tensors.read(place.group, place.tensor, begin, part);
    hash.add(part.data(), part.size_bytes());
  }
  return hash.value();
}

// The hashes of weights and statistics by name, as ParameterLayout::hashes() orders them.
std::map<std::string, uint64_t> hashes_of(const SavedTensors& tensors) {
  std::map<std::string, uint64_t> hashes;
  std::vector<TensorGroup> groups = tensors.groups();
  for (TensorPlace place : model_tensors(tensors, false)) {
    const TensorEntry& entry = groups[place.group].tensors[place.tensor];
    hashes[entry.name] = hash_of(tensors, place, entry.shape.elements());
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

std::string weights_problem(const std::vector<uint64_t>& recorded, const SavedTensors& tensors) {
  if (recorded.empty()) return "";
  std::map<std::string, uint64_t> found = hashes_of(tensors);
  if (found.size() != recorded.size())
    return fmt::format("holds {} tensors, and the chain records {}", found.size(), recorded.size());
  size_t at = 0;
  for (const auto& [name, hash] : found)
    if (uint64_t was = recorded[at++]; was != hash)
      return fmt::format("its weights {} are not those of the chain: {} and {}", name, hex(hash),
                         hex(was));
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
  return weights_problem(recorded_weights(log, step), *saved.tensors);
}

std::string checkpoint_problem(const AuditLog& log, int64_t step,
                               const std::filesystem::path& path) {
  try {
    return checkpoint_problem(log, step, load_checkpoint(path));
  } catch (const Error& error) {
    if (error.category() != Category::checkpoint) throw;
    return error.what();
  }
}

bool fits(const std::optional<double>& metric, double recorded) {
  if (!metric) return true;
  if (!std::isfinite(*metric)) return !std::isfinite(recorded);
  return std::bit_cast<uint64_t>(*metric) == std::bit_cast<uint64_t>(recorded);
}

std::string metrics_problem(const AuditLog& log, int64_t step, const StepRecord& metric) {
  auto record = log.records.find(step);
  if (record == log.records.end())
    return step > log.first ? "audit.jsonl does not have this step" : "";
  const AuditRecord& was = record->second;
  if (!fits(metric.loss, was.loss))
    return fmt::format("loss {}, and audit.jsonl has {}", unsigned_nan(*metric.loss), was.loss);
  if (!fits(metric.grad_norm, was.grad_norm))
    return fmt::format("gradient norm {}, and audit.jsonl has {}", unsigned_nan(*metric.grad_norm),
                       was.grad_norm);
  if (!metric.chain.empty() && metric.chain != log.values.at(step))
    return fmt::format("chain value {}, and audit.jsonl has {}", metric.chain, log.values.at(step));
  return "";
}

}  // namespace

RunCheck check_run(const AuditLog& log, const RunRecords& run) {
  RunCheck check;
  for (const std::string& problem : log.problems)
    check.problems.push_back("audit.jsonl: " + problem);
  for (const auto& [step, path] : run.checkpoints) {
    std::string problem = checkpoint_problem(log, step, path);
    if (problem.empty())
      ++check.checkpoints;
    else
      check.problems.push_back(fmt::format("{}: {}", path.filename().string(), problem));
  }
  for (const auto& [step, metric] : run.steps) {
    std::string problem = metrics_problem(log, step, metric);
    if (problem.empty())
      ++check.metrics;
    else
      check.problems.push_back(fmt::format("metrics.jsonl: step {}: {}", step, problem));
  }
  return check;
}

}  // namespace spire::inline run
