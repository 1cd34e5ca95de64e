#include <spire/base/error.h>
#include <spire/base/philox.h>
#include <spire/data/sampler.h>

#include <algorithm>
#include <bit>

namespace spire {
namespace {

constexpr uint64_t rounds = 8;

}  // namespace

Sampler::Sampler(int64_t count, uint64_t seed) : count_(count), seed_(seed) {
  require(count >= 1 && count <= max_count, "Sampler: {} samples, expected 1 to 2^40", count);
  int bits = std::max(2, static_cast<int>(std::bit_width(static_cast<uint64_t>(count - 1))));
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
}

int64_t Sampler::index(int64_t epoch, int64_t position) const {
  require(epoch >= 0 && position >= 0 && position < count_,
          "Sampler: position {} of epoch {}, there are {}", position, epoch, count_);
  const RandomStream stream(seed_, Purpose::shuffle, static_cast<uint64_t>(epoch));
  const uint64_t low_mask = (uint64_t{1} << low_bits_) - 1;
  const uint64_t high_mask = (uint64_t{1} << high_bits_) - 1;
  auto low = static_cast<uint64_t>(position) & low_mask;
  auto high = static_cast<uint64_t>(position) >> low_bits_;
  // The network permutes the whole domain; walking along its cycle until the value is below count
  // makes it a permutation of [0, count). Less than two walks are expected.
  do {
    for (uint64_t round = 0; round < rounds; round += 2) {
      low ^= stream.block(round << 32 | high)[0] & low_mask;
      high ^= stream.block((round + 1) << 32 | low)[0] & high_mask;
    }
  } while ((high << low_bits_ | low) >= static_cast<uint64_t>(count_));
  return static_cast<int64_t>(high << low_bits_ | low);
}

}  // namespace spire
