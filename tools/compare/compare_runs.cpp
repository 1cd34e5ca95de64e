#include "tools/compare/compare_runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <spire/load_config.h>

#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/config/text.h"
#include "engine/run/audit/audit_root.h"
#include "engine/train/tensor_observer.h"

namespace spire {

namespace fs = std::filesystem;

namespace {

constexpr int64_t compared_piece = 1 << 20;  // floats that are compared at a time

bool same_bits(const std::optional<double>& a, const std::optional<double>& b) {
  return !a || !b || spire::same_bits(*a, *b);  // or not recorded
}

bool agree(const StepRecord& a, const StepRecord& b) {
  bool hashes =
      a.parameter_hash.empty() || b.parameter_hash.empty() || a.parameter_hash == b.parameter_hash;
  return hashes && same_bits(a.loss, b.loss) && same_bits(a.grad_norm, b.grad_norm);
}

std::string tensor_name(const std::string& group, const std::string& tensor) {
  if (group == weights_group) return "weights " + tensor;
  if (group == states_group) return "running statistics " + tensor;
  return fmt::format("{} of {}", group.substr(std::string_view(optimizer_groups).size()), tensor);
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", unsigned_nan(*value)) : "-";
}

std::string line_of(const char* name, const StepRecord& record) {
  return fmt::format("  {}  loss {}, gradient norm {}{}{}\n", name, number(record.loss),
                     number(record.grad_norm), record.parameter_hash.empty() ? "" : ", weights ",
                     record.parameter_hash);
}

// The config in the newest checkpoint that can be read; else that in the directory. Checkpoints are
// better: theirs has what the run has settled.
ConfigText take_config(RunRecords& records) {
  for (auto entry = records.checkpoints.rbegin(); entry != records.checkpoints.rend(); ++entry) {
    try {
      StateMetadata state = load_checkpoint(entry->second).state;
      if (state.epoch > 0)
        records.steps_per_epoch = (state.step - state.step_in_epoch) / state.epoch;
      return {entry->second.string(), state.config_yaml};
    } catch (const Error& error) {
      if (error.category() != Category::checkpoint) throw;
    }
  }
  fs::path file = records.directory / "config.yaml";
  auto found = read_file_if_there(file, Category::config);
  if (!found) fail(Category::config, "{}: there is no such file", file.string());
  return {file.string(), *found};
}

struct SavedTensor {
  const SavedTensors& state;
  const std::vector<TensorGroup>& groups;
  size_t group, tensor;
  const TensorEntry& entry() const { return groups[group].tensors[tensor]; }
};

// No element of theirs compares.
TensorDifference other_tensors(int64_t step, std::string what) {
  return {.step = step, .tensor = std::move(what), .a = "0", .b = "0"};
}

std::optional<TensorDifference> difference_of(int64_t step, const SavedTensor& a,
                                              const SavedTensor& b) {
  const Shape &shape = a.entry().shape, &other_shape = b.entry().shape;
  std::string name = tensor_name(a.groups[a.group].path, a.entry().name);
  if (shape != other_shape)
    return other_tensors(step, fmt::format("{} {}, in the other run {}", name, to_string(shape),
                                           to_string(other_shape)));
  std::vector<float> left(static_cast<size_t>(std::min(compared_piece, shape.elements())));
  std::vector<float> right(left.size());
  for (int64_t begin = 0; begin < shape.elements(); begin += compared_piece) {
    auto count = static_cast<size_t>(std::min(compared_piece, shape.elements() - begin));
    std::span<float> l(left.data(), count), r(right.data(), count);
    a.state.read(a.group, a.tensor, begin, l);
    b.state.read(b.group, b.tensor, begin, r);
    auto same = [](float x, float y) {
      return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
    };
    auto [at, other] = std::mismatch(l.begin(), l.end(), r.begin(), same);
    if (at == l.end()) continue;
    int64_t element = begin + (at - l.begin());
    return TensorDifference{.step = step,
                            .tensor = name,
                            .element = coordinates({shape, DType::f32}, element),
                            .a = fmt::format("{}", *at),
                            .b = fmt::format("{}", *other)};
  }
  return {};
}

}  // namespace

RunRecords read_run_records(const fs::path& directory, const std::vector<std::string>& overrides) {
  RunRecords records;
  records.directory = directory;
  if (!fs::is_directory(directory))
    fail(Category::config, "{} is not the directory of a run", directory.string());
  fs::path metrics = directory / "metrics.jsonl";
  records.steps = read_step_records(metrics);
  for (const CheckpointEntry& entry : CheckpointStore(directory / "checkpoints", {}).list())
    records.checkpoints[entry.step] = entry.path;
  records.config = parse_config({take_config(records)}, overrides).config;
  if (fs::path chain = directory / "audit.jsonl"; is_there(chain))
    records.log = read_audit_log(chain);
  // A run may end before its first line of metrics.
  if (records.steps.empty() && (!records.log || records.log->records.empty()))
    fail(Category::config, "{}: holds no step of a run", metrics.string());
  return records;
}

namespace {

// With precision: exact these do not matter, but the global batch that they make.
bool divides_batch(const Field& field) {
  constexpr std::array keys =
      std::to_array<std::string_view>({"batch_size", "global_batch", "towers", "tower_threads"});
  return std::ranges::find(keys, field.path) != keys.end();
}

// 0: the devices decided.
int64_t batch_of(const RunConfig& config) {
  return config.global_batch.value_or(config.batch_size * config.towers.value_or(0));
}

// Keys of the weights at step 0, which no longer matter to a run that is resumed.
std::vector<std::string> start_differences(const RunConfig& a, const RunConfig& b) {
  std::vector<std::string> texts;
  bool both = a.init.from != "none" && b.init.from != "none";
  for (const Field& field : schema()) {
    if (field.path != "init.from" && (!both || !field.path.starts_with("init."))) continue;
    std::string first = value_text(field, a), second = value_text(field, b);
    if (first != second)
      texts.push_back(fmt::format("{}: {} and {}, so the runs may start from other weights",
                                  field.path, first, second));
  }
  return texts;
}

// As the first and the last root of both chains say. Empty: the same data, or not recorded.
std::string data_difference(const RunRecords& a, const RunRecords& b) {
  if (!a.log || !b.log || a.log->roots.empty() || b.log->roots.empty()) return "";
  const auto &ours = a.log->roots, &theirs = b.log->roots;
  std::string first = data_of(ours.begin()->second), second = data_of(theirs.begin()->second);
  if (first == second) {
    first = data_of(ours.rbegin()->second);
    second = data_of(theirs.rbegin()->second);
  }
  if (first == second || first.empty() || second.empty()) return "";
  return fmt::format("the data differ, by their digests {} and {}\n", first, second);
}

// As the newest root of its chain says.
bool ran_on_cpus(const RunRecords& run) {
  const RecordedRoot* root = run.log ? run.log->root_after(run.log->last) : nullptr;
  return root != nullptr && device_of(*root) == "cpu";
}

}  // namespace

std::vector<std::string> config_differences(const RunConfig& a, const RunConfig& b,
                                            const BitContext& context) {
  using Precision = RunConfig::Precision;
  bool exact = a.precision == Precision::exact && b.precision == Precision::exact &&
               batch_of(a) > 0 && batch_of(b) > 0;
  std::vector<std::string> texts;
  for (const auto& [field, first, second] : differences({a, context}, {b, context}))
    if (!exact || !divides_batch(*field))
      texts.push_back(fmt::format("{}: {} and {}", field->path, first, second));
  for (std::string& text : start_differences(a, b)) texts.push_back(std::move(text));
  if (exact && batch_of(a) != batch_of(b))
    texts.push_back(fmt::format("global_batch: {} and {}", batch_of(a), batch_of(b)));
  return texts;
}

BitContext common_context(const RunRecords& a, const RunRecords& b) {
  return {.on_cpus = ran_on_cpus(a) && ran_on_cpus(b)};
}

namespace {

// Of towers only where both have as many: with precision: exact their number may change.
std::optional<TensorDifference> step_difference(AuditRecord a, AuditRecord b) {
  std::vector<uint64_t> ours = std::exchange(a.weights, {}), theirs = std::exchange(b.weights, {});
  if (a.towers.size() != b.towers.size()) a.towers = b.towers = {};
  std::optional<TensorDifference> found = record_difference(a, b, {}, 0);
  if (found) found->note.clear();
  bool other_weights = !ours.empty() && !theirs.empty() && ours != theirs;
  if (!found && other_weights)
    found = TensorDifference{.step = a.step, .tensor = "the hashes of the weights"};
  return found;
}

StepRecord without_hashes(const AuditRecord& record) {
  return {record.loss, record.grad_norm};
}

// Where metrics.jsonl has no step of both.
void count_chained(const AuditLog& a, const AuditLog& b, RecordComparison& comparison) {
  for (const auto& [step, ours] : a.records) {
    auto theirs = b.records.find(step);
    if (theirs == b.records.end()) continue;
    ++comparison.steps;
    comparison.last = step;
    if (!ours.weights.empty() && !theirs->second.weights.empty()) ++comparison.hashes;
    auto ours_at = a.values.find(step), theirs_at = b.values.find(step);
    if (ours_at != a.values.end() && theirs_at != b.values.end())
      comparison.same_chain = ours_at->second == theirs_at->second;
  }
}

// Chains have each step and tower, so they may show more than metrics.jsonl.
void compare_chains(const AuditLog& a, const AuditLog& b, std::optional<StepDifference>& first) {
  for (const auto& [step, ours] : a.records) {
    auto theirs = b.records.find(step);
    if (first && step > first->step) return;
    if (theirs == b.records.end()) continue;
    auto found = step_difference(ours, theirs->second);
    if (!found) continue;
    if (!first || step < first->step)
      first = StepDifference{step, without_hashes(ours), without_hashes(theirs->second)};
    first->chained = found;
    return;
  }
}

}  // namespace

RecordComparison compare_records(const RunRecords& a, const RunRecords& b) {
  RecordComparison comparison;
  for (const auto& [step, record] : a.steps) {
    auto other = b.steps.find(step);
    if (other == b.steps.end()) continue;
    ++comparison.steps;
    comparison.last = step;
    if (!record.parameter_hash.empty() && !other->second.parameter_hash.empty())
      ++comparison.hashes;
    if (!record.chain.empty() && !other->second.chain.empty())
      comparison.same_chain = record.chain == other->second.chain;
    if (!comparison.first && !agree(record, other->second))
      comparison.first = StepDifference{step, record, other->second};
  }
  if (a.log && b.log) {
    if (comparison.steps == 0) count_chained(*a.log, *b.log, comparison);
    compare_chains(*a.log, *b.log, comparison.first);
  }
  return comparison;
}

// Layouts, and so the order of tensors, depend on what is frozen: pairs are found by name.
std::optional<TensorDifference> first_difference(int64_t step, const SavedTensors& a,
                                                 const SavedTensors& b) {
  std::vector<TensorGroup> ours = a.groups(), theirs = b.groups();
  for (size_t g = 0; g < ours.size(); ++g) {
    auto group = find_group(b, ours[g].path);
    if (!group) continue;  // the other run's optimizer has no such state
    const auto& others = theirs[*group].tensors;
    for (size_t t = 0; t < ours[g].tensors.size(); ++t) {
      auto other = std::ranges::find(others, ours[g].tensors[t].name, &TensorEntry::name);
      if (other == others.end()) {
        // State is not kept of what is frozen; weights without a partner are another model's.
        if (ours[g].path.starts_with(optimizer_groups)) continue;
        return other_tensors(step, tensor_name(ours[g].path, ours[g].tensors[t].name) +
                                       ", which the other run does not have");
      }
      auto at = static_cast<size_t>(other - others.begin());
      if (auto found = difference_of(step, {a, ours, g, t}, {b, theirs, *group, at})) return found;
    }
  }
  return {};
}

std::string to_text(const RunRecords& a, const RunRecords& b,
                    const std::vector<std::string>& configs, const RecordComparison& comparison) {
  std::string text = fmt::format("A  {}\nB  {}\n", printable(a.directory.string()),
                                 printable(b.directory.string()));
  text += configs.empty() ? "configs: equal in all keys that change bits\n" : "configs differ:\n";
  for (const std::string& line : configs) text += fmt::format("  {}\n", line);
  text += data_difference(a, b);
  if (!comparison.first) {
    text +=
        fmt::format("{} of both runs up to step {} are equal, {} of them with the weights\n",
                    counted(comparison.steps, "recorded step"), comparison.last, comparison.hashes);
    if (comparison.same_chain)
      text += *comparison.same_chain
                  ? "their chains are equal: all steps are, and so are data, versions and what the "
                    "configs mean\n"
                  : "their chains differ: see the roots in audit.jsonl for versions, data or steps "
                    "in between\n";
    return text;
  }
  const StepDifference& first = *comparison.first;
  text += "first recorded difference: ";
  if (first.chained)
    text += fmt::format("{}{}\n", place_text(*first.chained),
                        first.chained->a.empty()
                            ? ""
                            : fmt::format(", {} and {}", first.chained->a, first.chained->b));
  else
    text += fmt::format("step {}\n", first.step);
  return text + line_of("A", first.a) + line_of("B", first.b);
}

}  // namespace spire
