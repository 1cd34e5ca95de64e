#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "tools/compare/replay_pair.h"

namespace spire {
namespace {

constexpr size_t most_names = 3;  // of tensors in a note

std::string number(double value) {
  return fmt::format("{}", unsigned_nan(value));
}

// A record tells no NaNs apart.
bool equal(double recorded, double computed) {
  return same_bits(recorded, computed) || (recorded != recorded && computed != computed);
}

std::vector<size_t> changed_tensors(const AuditRecord& recorded, const AuditRecord& computed) {
  std::vector<size_t> changed;
  size_t count = std::min(recorded.weights.size(), computed.weights.size());
  for (size_t i = 0; i < count; ++i)
    if (recorded.weights[i] != computed.weights[i]) changed.push_back(i);
  return changed;
}

// What the weights tell of a difference elsewhere in the step.
std::string weights_note(const AuditRecord& recorded, const std::vector<size_t>& changed,
                         const std::vector<std::string>& names, int64_t confirmed) {
  if (recorded.weights.empty())
    return fmt::format("the weights were last compared at step {}", confirmed);
  if (changed.empty()) return "the weights behind the step are equal";
  std::vector<std::string> shown;
  for (size_t i : changed)
    if (shown.size() < most_names) shown.push_back(names.at(i));
  std::string more = changed.size() > shown.size()
                         ? fmt::format(" and {} more", changed.size() - shown.size())
                         : std::string();
  return fmt::format("the weights behind the step differ in {}{}", fmt::join(shown, ", "), more);
}

}  // namespace

std::optional<TensorDifference> record_difference(const AuditRecord& recorded,
                                                  const AuditRecord& computed,
                                                  const std::vector<std::string>& names,
                                                  int64_t confirmed) {
  std::vector<size_t> changed = changed_tensors(recorded, computed);
  TensorDifference found{.step = recorded.step,
                         .note = weights_note(recorded, changed, names, confirmed)};
  auto differ = [&](std::string tensor, std::string a, std::string b) {
    found.tensor = std::move(tensor);
    found.a = std::move(a);
    found.b = std::move(b);
    return found;
  };
  if (recorded.samples != computed.samples)
    return differ("the order of the samples", hex(recorded.samples), hex(computed.samples));
  if (!equal(recorded.lr, computed.lr))
    return differ("the learning rate", number(recorded.lr), number(computed.lr));
  if (recorded.towers.size() != computed.towers.size())
    return differ("the number of towers", std::to_string(recorded.towers.size()),
                  std::to_string(computed.towers.size()));
  for (size_t t = 0; t < recorded.towers.size(); ++t) {
    if (equal(recorded.towers[t], computed.towers[t])) continue;
    found.tower = static_cast<int>(t);
    return differ("loss", number(recorded.towers[t]), number(computed.towers[t]));
  }
  if (!equal(recorded.loss, computed.loss))
    return differ("loss", number(recorded.loss), number(computed.loss));
  if (!equal(recorded.grad_norm, computed.grad_norm))
    return differ("norm of the gradient", number(recorded.grad_norm), number(computed.grad_norm));
  if (recorded.left_out != computed.left_out)
    return differ("whether the step was left out", recorded.left_out ? "yes" : "no",
                  computed.left_out ? "yes" : "no");
  if (changed.empty()) return {};
  size_t first = changed.front();
  return differ("weights " + names.at(first), hex(recorded.weights[first]),
                hex(computed.weights[first]));
}

}  // namespace spire
