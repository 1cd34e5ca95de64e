#include "tools/compare/replay_pair.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/text.h"
#include "tools/compare/compare_runs.h"

namespace spire {
namespace {

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

// Where both have as many: with precision: exact their number changes no other bit.
bool same_towers(const StepOutcome& a, const StepOutcome& b) {
  return a.tower_losses.size() != b.tower_losses.size() ||
         std::ranges::equal(a.tower_losses, b.tower_losses, same_bits);
}

}  // namespace

bool ReplayPair::next(StepOutcome& result) {
  result = a_.next();
  StepOutcome other = b_.next();
  return same_bits(result.loss, other.loss) && same_bits(result.grad_norm, other.grad_norm) &&
         same_towers(result, other) && a_.hash() == b_.hash();
}

std::optional<TensorDifference> ReplayPair::state_difference() {
  return first_difference(step(), a_.state(), b_.state());
}

std::optional<TensorDifference> ReplayPair::sample_difference() {
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

std::optional<TensorDifference> ReplayPair::tensor_difference() {
  TensorRecorder ours(a_.towers()), theirs(b_.towers());
  a_.inspect(ours);
  b_.inspect(theirs);
  for (size_t t = 0; t < ours.towers().size(); ++t) {
    auto found = tensor_difference(static_cast<int>(t), ours.towers()[t], theirs.towers()[t]);
    if (found) return found;
  }
  return {};
}

std::optional<TensorDifference> ReplayPair::tensor_difference(int tower, const TensorRecords& ours,
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

TensorDifference ReplayPair::value_difference(int tower, size_t index, const TensorRecord& record) {
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

TensorDifference ReplayPair::locate() {
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

TensorDifference locate_difference(const ReplayStart& a, const ReplayStart& b, int64_t step) {
  ReplayPair pair(a, b);
  StepOutcome result;
  while (pair.step() < step - 1) pair.next(result);
  return pair.locate();
}

std::optional<TensorDifference> compare_replays(const ReplayStart& a, const ReplayStart& b,
                                                int64_t step) {
  int64_t differs = 0;
  {
    ReplayPair pair(a, b);  // its memory is free before that of the next is needed
    if (auto found = pair.state_difference()) return found;
    StepOutcome result;
    while (differs == 0 && pair.step() < step)
      if (!pair.next(result)) differs = pair.step();
  }
  if (differs == 0) return {};
  return locate_difference(a, b, differs);
}

std::string place_text(const TensorDifference& found) {
  std::string tower = found.tower < 0 ? std::string() : fmt::format(", tower {}", found.tower);
  return fmt::format("step {}{}: {}{}{}{}", found.step, tower, found.tensor,
                     found.element.empty() ? "" : ", element ", found.element,
                     found.note.empty() ? "" : " (" + found.note + ")");
}

}  // namespace spire
