// The order of samples: epoch e visits sample index(e, 0), index(e, 1), ... A permutation that is a
// function of (count, chunk, seed, epoch) alone and needs no table, so any position is reached in
// O(1). Method: a Feistel network on the bits of the position, kept within [0, count) by cycle
// walking; Black, Rogaway: "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. Round function:
// Philox.
//
// With a chunk above 1, samples [i * chunk, (i + 1) * chunk) stay near each other: the chunks are
// permuted, and the samples of `window` chunks that follow one another are permuted among
// themselves. Whoever keeps a window of chunks in memory reads each chunk once an epoch.
#pragma once
#include <cstdint>

namespace spire::inline data {

class Sampler {
 public:
  static constexpr int64_t max_count = int64_t{1} << 40;
  static constexpr int64_t window = 16;  // chunks

  // count in [1, max_count], chunk >= 1. Immutable, so any thread may use it.
  Sampler(int64_t count, uint64_t seed, int64_t chunk = 1);

  int64_t count() const { return count_; }
  // The sample at `position` of `epoch`, both of [0, count); epoch >= 0. Nine to some twenty Philox
  // blocks, twice as many with chunks.
  int64_t index(int64_t epoch, int64_t position) const;

 private:
  int64_t chunked_index(int64_t epoch, int64_t position) const;

  int64_t count_;
  uint64_t seed_;
  int64_t chunk_, chunks_;  // chunks_ counts the last, smaller one too
};

}  // namespace spire::inline data
