// Random order of samples: a permutation that is a function of (count, chunk, seed, epoch),
// computed in O(1) a position. Immutable, hence thread-safe.
#pragma once
#include <cstdint>

namespace spire::inline data {

// With chunk > 1 chunks of neighbours are permuted, and samples within each window of consecutive
// chunks, so that a cache of one window reads each chunk once.
class Sampler {
 public:
  static constexpr int64_t max_count = int64_t{1} << 40;
  static constexpr int64_t window = 16;  // chunks

  Sampler(int64_t count, uint64_t seed, int64_t chunk = 1);  // count in [1, max_count], chunk >= 1

  int64_t count() const { return count_; }
  int64_t index(int64_t epoch, int64_t position) const;  // sample at a position in [0, count)

 private:
  int64_t chunked_index(int64_t epoch, int64_t position) const;

  int64_t count_;
  uint64_t seed_;
  int64_t chunk_, chunks_;  // chunks_ includes a smaller last one
};

}  // namespace spire::inline data
