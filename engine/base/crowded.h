// When other programs count as a load on the cores on which threads compute.
#pragma once
#include <algorithm>

namespace spire {

inline constexpr double load_share = 0.10;  // docs/metrics.md names it, too

// True where others use so many of the cores that a tenth of what `threads` busy ones want is
// missing. More threads than cores want all cores: what they miss of more is no load of others.
inline bool crowded(double others, int threads, int cores) {
  int wanted = std::min(threads, cores);
  return others + wanted - cores >= load_share * wanted;
}

}  // namespace spire
