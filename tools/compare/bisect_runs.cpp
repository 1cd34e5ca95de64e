#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "tools/compare/compare_runs.h"

namespace spire {
namespace {

using CheckpointPath = std::optional<std::filesystem::path>;

CheckpointPath checkpoint_of(const RunRecords& run, int64_t step) {
  auto found = run.checkpoints.find(step);
  return found == run.checkpoints.end() ? CheckpointPath() : found->second;
}

// Returns the hash of the weights in a checkpoint; none if it is damaged.
std::optional<std::string> hash_in(const std::filesystem::path& path) {
  try {
    return load_checkpoint(path).state.parameter_hash;
  } catch (const Error& error) {
    if (error.category() != Category::checkpoint) throw;
    return {};
  }
}

// Returns the newest step before `limit` of which both runs have a checkpoint with the same hash of
// the weights; 0 if there is none.
int64_t common_step(const RunRecords& a, const RunRecords& b, int64_t limit) {
  for (auto entry = a.checkpoints.rbegin(); entry != a.checkpoints.rend(); ++entry) {
    CheckpointPath other = checkpoint_of(b, entry->first);
    if (entry->first >= limit || !other) continue;
    auto ours = hash_in(entry->second), theirs = hash_in(*other);
    if (ours && ours == theirs) return entry->first;
  }
  return 0;
}

ReplayStart start_of(const RunRecords& run, int64_t from) {
  CheckpointPath path = from > 0 ? checkpoint_of(run, from) : CheckpointPath();
  return {run.config, path ? std::optional(load_checkpoint(*path)) : std::nullopt};
}

// A record does not tell infinities and NaNs apart.
bool confirms(const std::optional<double>& recorded, double computed) {
  if (!recorded) return true;
  return std::isfinite(*recorded) ? same_bits(*recorded, computed) : !std::isfinite(computed);
}

// What the chain of a run has of a step, but for the order of samples and the hashes of weights,
// and its replay does not confirm; "" if nothing.
std::string chain_deviation(const char* name, const RunRecords& run, const StepOutcome& result) {
  if (!run.log) return "";
  auto record = run.log->records.find(result.step);
  if (record == run.log->records.end()) return "";
  AuditRecord was = record->second;
  was.weights.clear();
  if (was.towers.size() != result.tower_losses.size()) return "";
  auto found = record_difference(was, audit_record(result, was.samples, was.left_out, {}), {}, 0);
  if (!found) return "";
  found->note.clear();
  return fmt::format("run {}: its chain has of {} the value {}, and the replay computes {}", name,
                     place_text(*found), found->a, found->b);
}

// Returns what a run recorded of a step that its replay does not confirm; "" if nothing.
std::string deviation_of(const char* name, const RunRecords& run, Replay& replay,
                         const StepOutcome& result) {
  int64_t step = replay.step();
  if (CheckpointPath path = checkpoint_of(run, step)) {
    LoadedCheckpoint saved = load_checkpoint(*path);
    if (auto found = first_difference(step, *saved.tensors, replay.state()))
      return fmt::format("run {}: {} holds at {} of {} the value {}, and the replay computes {}",
                         name, path->string(), found->element, found->tensor, found->a, found->b);
  }
  if (std::string text = chain_deviation(name, run, result); !text.empty()) return text;
  auto record = run.steps.find(step);
  if (record == run.steps.end()) return "";
  const StepRecord& was = record->second;
  if (!confirms(was.loss, result.loss) || !confirms(was.grad_norm, result.grad_norm))
    return fmt::format(
        "run {}: it recorded loss {} and gradient norm {}, and the replay computes "
        "{} and {}",
        name, unsigned_nan(was.loss.value_or(0)), unsigned_nan(was.grad_norm.value_or(0)),
        unsigned_nan(result.loss), unsigned_nan(result.grad_norm));
  if (!was.parameter_hash.empty() && was.parameter_hash != hex(replay.hash()))
    return fmt::format("run {}: it recorded weights {}, and the replay computes {}", name,
                       was.parameter_hash, hex(replay.hash()));
  return "";
}

}  // namespace

Bisection bisect(const RunRecords& a, const RunRecords& b) {
  Bisection bisection;
  RecordComparison records = compare_records(a, b);
  bisection.to = records.first ? records.first->step : records.last;
  bisection.from = common_step(a, b, bisection.to);
  ReplayStart start_a = start_of(a, bisection.from), start_b = start_of(b, bisection.from);
  auto pair = std::make_unique<ReplayPair>(start_a, start_b);
  bisection.difference = pair->state_difference();
  bool differ = false;
  while (!differ && !bisection.difference && bisection.deviation.empty() &&
         pair->step() < bisection.to) {
    StepOutcome result;
    differ = !pair->next(result);
    if (!differ) bisection.deviation = deviation_of("A", a, pair->a(), result);
    if (!differ && bisection.deviation.empty())
      bisection.deviation = deviation_of("B", b, pair->b(), result);
  }
  bisection.to = pair->step();
  pair.reset();  // its memory, before that of the next
  if (differ) bisection.difference = locate_difference(start_a, start_b, bisection.to);
  return bisection;
}

std::string to_text(const Bisection& bisection) {
  std::string text = fmt::format(
      "replayed both from {} to step {}\n",
      bisection.from > 0 ? fmt::format("step {}", bisection.from) : std::string("their beginning"),
      bisection.to);
  if (!bisection.deviation.empty())
    return text +
           fmt::format("the replays are equal; step {} of {}\n", bisection.to, bisection.deviation);
  if (!bisection.difference) return text + "the replays are equal, and confirm both records\n";
  const TensorDifference& found = *bisection.difference;
  text += fmt::format("first difference: {}\n", place_text(found));
  return text + fmt::format("  A  {}\n  B  {}\n", found.a, found.b);
}

}  // namespace spire
