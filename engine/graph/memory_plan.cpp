#include "engine/graph/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/device/device_memory.h"

namespace spire::inline graph {
namespace {

bool overlap_in_time(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> placed;  // in order of offset
  for (size_t block : order) {
    size_t bytes = align_up(lifetimes[block].bytes);
    size_t offset = 0;
    for (size_t other : placed) {
      if (!overlap_in_time(lifetimes[block], lifetimes[other])) continue;
      if (offset + bytes <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + align_up(lifetimes[other].bytes));
    }
    plan.offsets[block] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    auto after =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](size_t at, size_t other) { return at < plan.offsets[other]; });
    placed.insert(after, block);
  }
  return plan;
}

size_t peak_live_bytes(const std::vector<Lifetime>& lifetimes) {
  int end = 0;
  for (const Lifetime& life : lifetimes) end = std::max(end, life.last + 1);
  std::vector<size_t> born(static_cast<size_t>(end) + 1), gone(born.size());
  for (const Lifetime& life : lifetimes) {
    born[static_cast<size_t>(life.first)] += align_up(life.bytes);
    gone[static_cast<size_t>(life.last) + 1] += align_up(life.bytes);
  }
  size_t live = 0, peak = 0;
  for (size_t node = 0; node < born.size(); ++node) {
    live += born[node] - gone[node];
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace spire::inline graph
