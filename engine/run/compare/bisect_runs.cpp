#include "engine/run/compare/bisect_runs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "engine/base/hash.h"
#include "engine/base/message_words.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/train/tensor_observer.h"

namespace spire::inline run {
namespace {

using Checkpoint = std::optional<std::filesystem::path>;
using TensorRecords = std::vector<TensorRecord>;  // of a tower, in the order of its kernels

Checkpoint checkpoint_of(const RunRecords& run, int64_t step) {
  auto found = run.checkpoints.find(step);
  return found == run.checkpoints.end() ? Checkpoint() : found->second;
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
    Checkpoint other = checkpoint_of(b, entry->first);
    if (entry->first >= limit || !other) continue;
    auto ours = hash_in(entry->second), theirs = hash_in(*other);
    if (ours && ours == theirs) return entry->first;
  }
  return 0;
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// A record does not tell infinities and NaNs apart.
bool confirms(const std::optional<double>& recorded, double computed) {
  if (!recorded) return true;
  return std::isfinite(*recorded) ? same_bits(*recorded, computed) : !std::isfinite(computed);
}

TensorDifference of_state(int64_t step, const ElementDifference& found) {
  return {.step = step,
          .tensor = found.tensor,
          .element = found.element,
          .a = fmt::format("{}", found.a),
          .b = fmt::format("{}", found.b)};
}

// The first byte that differs decides the element.
TensorDifference of_values(int64_t step, int tower, const TensorRecord& record,
                           const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at == a.end())
    fail(Category::unexpected,
         "step {}, tower {}: {} differed, and is equal when it is computed again: the hardware or "
         "an op is not reproducible",
         step, tower, record.name.text());
  auto element = (at - a.begin()) / static_cast<int64_t>(size_of(record.spec.dtype));
  auto value = [&](const std::vector<std::byte>& values) {
    return fmt::format("{:.9g}", unsigned_nan(element_value(record.spec.dtype, values, element)));
  };
  return {.step = step,
          .tower = tower,
          .tensor = record.name.text(),
          .element = coordinates(record.spec, element),
          .a = value(a),
          .b = value(b),
          .note = to_string(record.spec)};
}

// Two replays that are at the same step.
class Pair {
 public:
  Pair(const RunRecords& a, const RunRecords& b, int64_t from)
      : a_(a.config, from > 0 ? checkpoint_of(a, from) : Checkpoint()),
        b_(b.config, from > 0 ? checkpoint_of(b, from) : Checkpoint()) {}

  Replay& a() { return a_; }
  Replay& b() { return b_; }
  int64_t step() const { return a_.step(); }

  // Trains a step of both; returns whether they are still equal. `result`: A's.
  bool next(StepOutcome& result) {
    result = a_.next();
    StepOutcome other = b_.next();
    return same_bits(result.loss, other.loss) && same_bits(result.grad_norm, other.grad_norm) &&
           a_.hash() == b_.hash();
  }

  std::optional<TensorDifference> state_difference() {
    auto found = first_difference(a_.state(), b_.state());
    if (!found) return {};
    return of_state(step(), *found);
  }

  // Where the next step of both differs. REQUIRES: their states are equal.
  TensorDifference locate();

 private:
  std::optional<TensorDifference> sample_difference();
  std::optional<TensorDifference> tensor_difference();
  std::optional<TensorDifference> tensor_difference(int tower, const TensorRecords& ours,
                                                    const TensorRecords& theirs);
  // Of tensor number `index` of a tower, whose hashes differ.
  TensorDifference value_difference(int tower, size_t index, const TensorRecord& record);

  Replay a_, b_;
};

std::optional<TensorDifference> Pair::sample_difference() {
  for (int tower = 0; tower < a_.towers(); ++tower) {
    std::vector<int64_t> ours = a_.samples(tower), theirs = b_.samples(tower);
    auto [at, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    if (at == ours.end() && other == theirs.end()) continue;
    auto name = [](auto where, const auto& samples) {
      return where == samples.end() ? std::string("none") : fmt::format("sample {}", *where);
    };
    return TensorDifference{.step = step() + 1,
                            .tower = tower,
                            .tensor = "samples of the batch",
                            .element = fmt::format("[{}]", at - ours.begin()),
                            .a = name(at, ours),
                            .b = name(other, theirs)};
  }
  return {};
}

std::optional<TensorDifference> Pair::tensor_difference() {
  TensorRecorder ours(a_.towers()), theirs(b_.towers());
  a_.inspect(ours);
  b_.inspect(theirs);
  for (size_t t = 0; t < ours.towers().size(); ++t) {
    auto found = tensor_difference(static_cast<int>(t), ours.towers()[t], theirs.towers()[t]);
    if (found) return found;
  }
  return {};
}

std::optional<TensorDifference> Pair::tensor_difference(int tower, const TensorRecords& ours,
                                                        const TensorRecords& theirs) {
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    std::string name = ours[i].name.text(), other = theirs[i].name.text();
    if (name != other || ours[i].spec != theirs[i].spec)
      return TensorDifference{.step = step() + 1,
                              .tower = tower,
                              .tensor = name,
                              .a = fmt::format("{} {}", name, to_string(ours[i].spec)),
                              .b = fmt::format("{} {}", other, to_string(theirs[i].spec)),
                              .note = "the runs compute different ops from here on"};
    if (ours[i].hash != theirs[i].hash) return value_difference(tower, i, ours[i]);
  }
  if (ours.size() == theirs.size()) return {};
  return TensorDifference{.step = step() + 1,
                          .tower = tower,
                          .tensor = "the number of tensors",
                          .a = fmt::format("{}", ours.size()),
                          .b = fmt::format("{}", theirs.size())};
}

TensorDifference Pair::value_difference(int tower, size_t index, const TensorRecord& record) {
  TensorCopy a(tower, index), b(tower, index);
  a_.inspect(a);
  b_.inspect(b);
  TensorDifference found = of_values(step() + 1, tower, record, a.values(), b.values());
  if (record.name.op == "input") {
    int64_t row = std::stoll(found.element.substr(1));
    found.note += fmt::format(", sample {}", a_.samples(tower)[static_cast<size_t>(row)]);
  }
  return found;
}

TensorDifference Pair::locate() {
  if (a_.towers() != b_.towers())
    return {.step = step() + 1,
            .tensor = "the number of towers",
            .a = fmt::format("{}", a_.towers()),
            .b = fmt::format("{}", b_.towers()),
            .note = "the runs cut their batches differently"};
  if (auto found = sample_difference()) return *found;
  if (auto found = tensor_difference()) return *found;
  StepOutcome result;
  next(result);
  if (auto found = state_difference()) return *found;
  fail(Category::unexpected, "step {}: the replays differ, but none of their tensors", step());
}

// Returns what a run recorded of a step that its replay does not confirm; "" if nothing.
std::string deviation_of(const char* name, const RunRecords& run, Replay& replay,
                         const StepOutcome& result) {
  int64_t step = replay.step();
  if (Checkpoint path = checkpoint_of(run, step)) {
    LoadedCheckpoint saved = load_checkpoint(*path);
    if (auto found = first_difference(*saved.tensors, replay.state()))
      return fmt::format("run {}: {} holds at {} of {} the value {}, and the replay computes {}",
                         name, path->string(), found->element, found->tensor, found->a, found->b);
  }
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
  auto pair = std::make_unique<Pair>(a, b, bisection.from);
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
  if (!differ) return bisection;
  pair.reset();  // its memory, before that of the next
  pair = std::make_unique<Pair>(a, b, bisection.from);
  StepOutcome result;
  while (pair->step() < bisection.to - 1) pair->next(result);
  bisection.difference = pair->locate();
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
  std::string where = found.tower < 0 ? std::string() : fmt::format(", tower {}", found.tower);
  text += fmt::format("first difference: step {}{}: {}{}{}{}\n", found.step, where, found.tensor,
                      found.element.empty() ? "" : ", element ", found.element,
                      found.note.empty() ? "" : " (" + found.note + ")");
  return text + fmt::format("  A  {}\n  B  {}\n", found.a, found.b);
}

}  // namespace spire::inline run
