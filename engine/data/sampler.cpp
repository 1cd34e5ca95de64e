// Permutes by a Feistel network on the bits of the position, with Philox as its round function,
// kept within [0, count) by cycle walking; Black, Rogaway: "Ciphers with Arbitrary Finite Domains",
// CT-RSA 2002. Costs 9 to about 20 Philox blocks a position, twice as many with chunks.
#include "engine/data/sampler.h"

#include <algorithm>
#include <bit>

#include "engine/base/fail.h"

namespace spire {
namespace {

constexpr uint64_t rounds = 8;

RandomStream shuffle_stream(uint64_t seed, int64_t epoch, uint64_t part = 0) {
  return RandomStream(seed, Purpose::shuffle, static_cast<uint64_t>(epoch), part);
}

// Streams of an epoch besides 0, the order without chunks: order of chunks, position of the last
// chunk, order within each window.
constexpr uint64_t chunk_part = 1, tail_part = 2, first_window_part = 3;

}  // namespace

int64_t permuted(const RandomStream& stream, int64_t count, int64_t position) {
  // The network's domain, 2^(low + high), is the smallest power of two >= count.
  int bits = std::max(2, static_cast<int>(std::bit_width(static_cast<uint64_t>(count - 1))));
  int high_bits = bits / 2, low_bits = bits - high_bits;
  const uint64_t low_mask = (uint64_t{1} << low_bits) - 1;
  const uint64_t high_mask = (uint64_t{1} << high_bits) - 1;
  auto low = static_cast<uint64_t>(position) & low_mask;
  auto high = static_cast<uint64_t>(position) >> low_bits;
  // The network permutes the whole domain; walking along its cycle until the value is below count
  // makes it a permutation of [0, count). Less than two walks are expected.
  do {
    for (uint64_t round = 0; round < rounds; round += 2) {
      low ^= stream.block(round << 32 | high)[0] & low_mask;
      high ^= stream.block((round + 1) << 32 | low)[0] & high_mask;
    }
  } while ((high << low_bits | low) >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(high << low_bits | low);
}

Sampler::Sampler(int64_t count, uint64_t seed, int64_t chunk)
    : count_(count), seed_(seed), chunk_(chunk) {
  require(count >= 1 && count <= max_count, "Sampler: {} samples, expected 1 to 2^40", count);
  require(chunk >= 1, "Sampler: chunks of {} samples", chunk);
  chunk_ = std::min(chunk, count);
  chunks_ = (count_ + chunk_ - 1) / chunk_;
}

int64_t Sampler::index(int64_t epoch, int64_t position) const {
  require(epoch >= 0 && position >= 0 && position < count_,
          "Sampler: position {} of epoch {}, there are {}", position, epoch, count_);
  if (chunk_ == 1 || chunks_ == 1) return permuted(shuffle_stream(seed_, epoch), count_, position);
  return chunked_index(epoch, position);
}

// The epoch is a sequence of chunks. The full ones are permuted among themselves; the last, smaller
// one (the tail) is inserted at a position drawn for it. So every position is computed in O(1).
int64_t Sampler::chunked_index(int64_t epoch, int64_t position) const {
  int64_t tail = count_ - (chunks_ - 1) * chunk_;  // samples of the last chunk, 1 to chunk_
  auto tail_at = static_cast<int64_t>(
      shuffle_stream(seed_, epoch, tail_part)
          .below(0, static_cast<uint32_t>(std::min<int64_t>(chunks_, UINT32_MAX))));
  // Pads the tail to chunk_ samples, so that division by chunk_ finds the chunk of a position.
  auto widened = [&](int64_t at) { return at < tail_at * chunk_ + tail ? at : at + chunk_ - tail; };
  int64_t in_window = window * chunk_;
  int64_t index_of_window = widened(position) / in_window;
  int64_t begin = index_of_window * in_window;
  int64_t end = std::min(begin + in_window, chunks_ * chunk_);
  if (tail_at * chunk_ < begin) begin -= chunk_ - tail;
  if (tail_at * chunk_ < end) end -= chunk_ - tail;

  // Permutes within the window, then maps the chunk through the permutation of chunks.
  auto part = first_window_part + static_cast<uint64_t>(index_of_window);
  int64_t shuffled =
      begin + permuted(shuffle_stream(seed_, epoch, part), end - begin, position - begin);
  int64_t place = widened(shuffled) / chunk_;
  int64_t within = widened(shuffled) % chunk_;
  if (place == tail_at) return (chunks_ - 1) * chunk_ + within;
  int64_t rank = place - (place > tail_at ? 1 : 0);
  int64_t chunk = permuted(shuffle_stream(seed_, epoch, chunk_part), chunks_ - 1, rank);
  return chunk * chunk_ + within;
}

}  // namespace spire
