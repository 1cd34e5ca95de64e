#include "kernels/autotune/fastest.h"

#include <algorithm>
#include <vector>

namespace spire::inline kernels {
namespace {

constexpr int rounds = 5;
constexpr float near = 1.03f, hopeless = 2.0f;

struct Candidate {
  size_t index;
  std::optional<float> best = {};
};

float best_of(const std::vector<Candidate>& candidates) {
  std::optional<float> best;
  for (const Candidate& c : candidates)
    if (c.best) best = best ? std::min(*best, *c.best) : *c.best;
  return best.value_or(0);
}

}  // namespace

std::optional<size_t> fastest(size_t candidates,
                              const std::function<std::optional<float>(size_t)>& time) {
  std::vector<Candidate> left;
  for (size_t i = 0; i < candidates; ++i)
    if (time(i)) left.push_back({i});
  for (int round = 0; round < rounds; ++round) {
    float best = best_of(left);
    std::erase_if(left, [&](Candidate& c) {
      if (c.best && *c.best > hopeless * best) return false;  // it rests
      auto taken = time(c.index);
      if (taken) c.best = std::min(c.best.value_or(*taken), *taken);
      return !taken;
    });
  }
  float most = near * best_of(left);
  auto chosen =
      std::find_if(left.begin(), left.end(), [&](const Candidate& c) { return *c.best <= most; });
  return chosen == left.end() ? std::nullopt : std::optional(chosen->index);
}

}  // namespace spire::inline kernels
