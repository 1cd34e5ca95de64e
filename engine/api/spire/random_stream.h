// Philox 4x32-10, a counter-based random generator: a draw is a pure function of (key, counter), so
// there is no state, and any thread of any device computes the same numbers.
// Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11.
#pragma once
#include <array>
#include <cstdint>

namespace spire {

// What random numbers are used for. It is part of the key, so that no two purposes share numbers.
enum class Purpose : uint32_t {
  initialize = 1,
  shuffle = 2,
  crop = 3,
  flip = 4,
  dropout = 5,
  generate = 6,
  synthetic = 16,
  test_split = 17,
  window = 18,
  resized_crop = 24,
  color_jitter = 25,
  mix = 26,
  degrade = 27,
  affine = 28,
  rand_augment = 29,
  erase = 30,
};

using PhiloxBlock = std::array<uint32_t, 4>;

constexpr PhiloxBlock philox(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// Random numbers of one (seed, purpose, a, b): block i is philox at counter i. The meaning of `a`
// and `b` depends on the purpose: (epoch, sample) for augmentation, (step << 16 | op, row) for
// dropout.
class RandomStream {
 public:
  constexpr RandomStream(uint64_t seed, Purpose purpose, uint64_t a = 0, uint64_t b = 0) {
    // One more call of philox() hashes the 160 bits of (seed, purpose, a) to a key and a mask. The
    // upper half of the counter is b XOR the mask.
    PhiloxBlock name = philox({static_cast<uint32_t>(a), static_cast<uint32_t>(a >> 32),
                               static_cast<uint32_t>(purpose), 0x5350u},
                              {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    key_ = {name[0], name[1]};
    high_ = {static_cast<uint32_t>(b) ^ name[2], static_cast<uint32_t>(b >> 32) ^ name[3]};
  }

  constexpr PhiloxBlock block(uint64_t index) const {
    return philox(
        {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), high_[0], high_[1]},
        key_);
  }
  constexpr uint32_t bits(uint64_t index) const { return block(index / 4)[index % 4]; }
  constexpr float uniform(uint64_t index) const {  // in [0, 1), 24 bits
    return static_cast<float>(bits(index) >> 8) * 0x1p-24f;
  }
  // In [0, bound); the probability of each value is 1 / bound within 2^-32.
  constexpr uint32_t below(uint64_t index, uint32_t bound) const {
    return static_cast<uint32_t>((uint64_t{bits(index)} * bound) >> 32);
  }
  // The key of every block, and the upper half of its counter, for random_numbers.h.
  constexpr std::array<uint32_t, 2> key() const { return key_; }
  constexpr std::array<uint32_t, 2> high() const { return high_; }

 private:
  std::array<uint32_t, 2> key_{};
  std::array<uint32_t, 2> high_{};
};

}  // namespace spire
