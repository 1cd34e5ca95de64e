// Random order of the samples of an epoch: a permutation that is a function of (count, chunk, seed,
// epoch) and takes O(1) per position. Immutable, hence thread-safe.
#pragma once
#include <cstdint>

#include <spire/random_stream.h>

namespace spire {

// Returns entry `position` of the permutation of [0, count) that `stream` is the key of; count >=
// 1.
int64_t permuted(const RandomStream& stream, int64_t count, int64_t position);

// With chunk > 1 permutes whole chunks of neighbours, then the samples within each window of
// consecutive chunks, so that a cache of one window reads each chunk once.
class Sampler {
 public:
  static constexpr int64_t max_count = int64_t{1} << 40;
  static constexpr int64_t window = 16;  // in chunks

  Sampler(int64_t count, uint64_t seed, int64_t chunk = 1);  // count in [1, max_count], chunk >= 1

  int64_t count() const { return count_; }
  int64_t index(int64_t epoch, int64_t position) const;  // the sample at position in [0, count)

 private:
  int64_t chunked_index(int64_t epoch, int64_t position) const;

  int64_t count_;
  uint64_t seed_;
  int64_t chunk_, chunks_;  // chunks_ counts also a smaller last chunk
};

}  // namespace spire
