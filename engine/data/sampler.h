// The order of samples: epoch e visits sample index(e, 0), index(e, 1), ... A permutation that is a
// function of (count, seed, epoch) alone and needs no table, so any position is reached in O(1).
// Method: a Feistel network on the bits of the position, kept within [0, count) by cycle walking;
// Black, Rogaway: "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. Round function: Philox.
#pragma once
#include <cstdint>

namespace spire {

class Sampler {
 public:
  static constexpr int64_t max_count = int64_t{1} << 40;

  // count in [1, max_count]. Immutable, so any thread may use it.
  Sampler(int64_t count, uint64_t seed);

  int64_t count() const { return count_; }
  // The sample at `position` of `epoch`, both of [0, count); epoch >= 0. Nine to some twenty Philox
  // blocks.
  int64_t index(int64_t epoch, int64_t position) const;

 private:
  int64_t count_;
  uint64_t seed_;
  int low_bits_, high_bits_;  // the domain, 2^(low + high), is the next power of two from count
};

}  // namespace spire
