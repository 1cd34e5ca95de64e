// Tiles for CPU kernels over rows of C channels: a tile is `repeat` adjacent rows, treated as one
// row of width = repeat * C elements, so that inner loops are long and vectorize for any C. The
// positions of elements in a tile are called lanes (as in simd.h); lane j has channel j % C.
// Kernels sum each lane over a block of 16 tiles in fp32, and add up the blocks in fp64.
#pragma once
#include <algorithm>
#include <cstdint>

#include <spire/tensor.h>

#include "kernels/cpu/simd.h"

namespace spire {

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

}  // namespace spire
