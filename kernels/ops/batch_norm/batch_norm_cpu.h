// Tiles, scratch memory and affine map of batch normalization on the CPU. For its .cpp files.
#pragma once
#include <algorithm>
#include <cstdint>

#include <spire/tensor.h>

#include "engine/device/device_memory.h"
#include "kernels/cpu/simd.h"

namespace spire {

// Tiles for CPU kernels over rows of C channels: a tile is `repeat` adjacent rows, treated as one
// row of width = repeat * C elements, so that inner loops are long and vectorize for any C. The
// positions of elements in a tile are called lanes (as in simd.h); lane j has channel j % C.
// Kernels sum each lane over a block of 16 tiles in fp32, and add up the blocks in fp64.
struct ChannelTiles {
  int64_t rows = 0, channels = 0;
  int64_t repeat = 1;
  int64_t width = 0;       // lanes of a tile: channels * repeat
  int64_t block_rows = 0;  // rows of 16 tiles, the grain of parallel loops

  explicit ChannelTiles(const Shape& shape)
      : rows(shape.elements() / shape.back()),
        channels(shape.back()),
        repeat(repeat_of(channels)),
        width(repeat * channels),
        block_rows(16 * repeat) {}

 private:
  // Chosen so that tiles have about 256 lanes; with few channels, a multiple of a register's lanes.
  static int64_t repeat_of(int64_t channels) {
    int64_t repeat = std::max<int64_t>(1, 256 / channels);
    return repeat > lane_count ? repeat / lane_count * lane_count : repeat;
  }
};

// The terms that 16 elements add to two sums, which are made in one pass: a register per sum.
struct TwoTerms {
  FloatLanes first, second;
};

inline void add_to(float* sum, const FloatLanes& terms, int count) {
  store_floats(load_floats(sum, count) + terms, sum, count);
}

// Adds the terms of elements [begin, end) to first[lane] and second[lane]; element `begin` is in
// lane 0. term(i, j, count) returns the terms of elements [i, i + count), which are in lanes from j
// on. Four tiles are summed in registers before the sums in memory are loaded and stored, which
// would otherwise be most of the work.
template <typename Term>
void add_terms(int64_t begin, int64_t end, int64_t width, float* first, float* second, Term term) {
  int64_t i = begin;
  for (; i + 4 * width <= end; i += 4 * width) {
    over_lanes(width, [=](int64_t j, auto count) {
      TwoTerms a = term(i + j, j, count), b = term(i + width + j, j, count);
      TwoTerms c = term(i + 2 * width + j, j, count), d = term(i + 3 * width + j, j, count);
      add_to(first + j, (a.first + b.first) + (c.first + d.first), count);
      add_to(second + j, (a.second + b.second) + (c.second + d.second), count);
    });
  }
  for (; i < end; i += width) {
    over_lanes(std::min(width, end - i), [=](int64_t j, auto count) {
      TwoTerms a = term(i + j, j, count);
      add_to(first + j, a.first, count);
      add_to(second + j, a.second, count);
    });
  }
}

// Visits elements [begin, end): calls body(i, j, count) for elements [i, i + count), which are in
// lanes [j, j + count). Element `begin` is in lane 0.
template <typename Body>
void for_each_lane(int64_t begin, int64_t end, int64_t width, Body body) {
  for (int64_t i = begin; i < end; i += width) {
    over_lanes(std::min(width, end - i), [=](int64_t j, auto count) { body(i + j, j, count); });
  }
}

// Sets lanes[c], c < channels, to the sum of all lanes of channel c.
inline void fold_lanes(const ChannelTiles& tiles, float* lanes) {
  for (int64_t r = 1; r < tiles.repeat; ++r) {
    const float* more = lanes + r * tiles.channels;
    for (int64_t c = 0; c < tiles.channels; ++c) lanes[c] += more[c];
  }
}

// Copies lanes [0, channels) to the other lanes of their channels.
inline void repeat_lanes(const ChannelTiles& tiles, float* lanes) {
  for (int64_t r = 1; r < tiles.repeat; ++r) {
    std::copy_n(lanes, tiles.channels, lanes + r * tiles.channels);
  }
}

// Coefficients of affine(), one float per lane of a tile (ChannelTiles).
struct ChannelAffine {
  const float *center, *scale, *shift;
};

// Returns y before residual and relu: (x - center) scale + shift. The backward computes its mask by
// the same expression, so forward and backward agree on every bit.
inline FloatLanes affine(const FloatLanes& x, const ChannelAffine& map, int64_t lane, int count) {
  return (x - load_floats(map.center + lane, count)) * load_floats(map.scale + lane, count) +
         load_floats(map.shift + lane, count);
}

// Scratch memory of a run: for each chunk of rows, two fp64 sums per channel and three fp32 lane
// vectors (one element per lane of a tile); and five lane vectors for all chunks, the tables.
class ChannelScratch {
 public:
  static constexpr int tables = 5;

  ChannelScratch(const ChannelTiles& tiles, int chunks)
      : tiles_(tiles),
        chunks_(chunks),
        sums_(align_up(sizeof(double) * channels() * 2)),
        lanes_(align_up(sizeof(float) * static_cast<size_t>(tiles.width))) {}

  size_t bytes() const { return sums_ * chunks() + lanes_ * (3 * chunks() + tables); }
  void bind(void* memory) { memory_ = static_cast<std::byte*>(memory); }

  // Returns the sums (2, C) of a chunk.
  double* sums(int chunk) const {
    return reinterpret_cast<double*>(memory_ + sums_ * static_cast<size_t>(chunk));
  }
  float* lanes(int chunk, int which) const { return lane_vector(3 * chunk + which); }
  float* table(int which) const { return lane_vector(3 * chunks_ + which); }

  void clear_sums() const { std::fill_n(memory_, sums_ * chunks(), std::byte{0}); }

  // Returns sum `which` (0, 1) of a channel over all chunks, in their order.
  double total(int which, int64_t channel) const {
    double sum = 0;
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      sum += sums(chunk)[which * tiles_.channels + channel];
    }
    return sum;
  }

 private:
  size_t channels() const { return static_cast<size_t>(tiles_.channels); }
  size_t chunks() const { return static_cast<size_t>(chunks_); }
  float* lane_vector(int index) const {
    return reinterpret_cast<float*>(memory_ + sums_ * chunks() +
                                    lanes_ * static_cast<size_t>(index));
  }

  ChannelTiles tiles_;
  int chunks_;
  size_t sums_, lanes_;  // bytes of a chunk's sums, and of a lane vector
  std::byte* memory_ = nullptr;
};

}  // namespace spire
