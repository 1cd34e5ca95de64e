// Decides whether other programs load the cores so much that threads compute more slowly.
#pragma once
#include <algorithm>

namespace spire {

inline constexpr double load_share = 0.10;  // docs/metrics.md names it, too

// Returns whether `threads` busy threads lack at least load_share of the cores that they need, as
// other programs use them. others: use by other programs, in cores. More threads than cores need
// `cores`: what they lack beyond that is not due to other programs.
inline bool crowded(double others, int threads, int cores) {
  int wanted = std::min(threads, cores);
  return others + wanted - cores >= load_share * wanted;
}

}  // namespace spire
