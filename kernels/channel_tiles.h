// Rows of C channels walked as wider rows. `repeat` rows side by side make a tile of
// width = repeat * C lanes, so that inner loops are long and vectorise for any C; lane j is channel
// j % C. Sums are fp32 within a block of 16 tiles, a lane each, and fp64 across blocks.
#pragma once
#include <algorithm>
#include <cstdint>

#include <spire/base/shape.h>

namespace spire {

struct ChannelTiles {
  int64_t rows = 0, channels = 0;
  int64_t repeat = 1;
  int64_t width = 0;       // lanes of a tile: channels * repeat
  int64_t block_rows = 0;  // rows of a block, of 16 tiles: the grain of parallel loops

  explicit ChannelTiles(const Shape& shape)
      : rows(shape.elements() / shape.back()),
        channels(shape.back()),
        repeat(std::max<int64_t>(1, 256 / channels)),
        width(repeat * channels),
        block_rows(16 * repeat) {}
};

// One lane's term of two sums.
struct TwoTerms {
  float first, second;
};

// first[j] += , second[j] += the terms of elements [begin, end), begin at lane 0. Four tiles are
// added up before they meet the sums: the sums' own traffic would else be most of the work.
template <typename Term>
void add_terms(int64_t begin, int64_t end, int64_t width, float* first, float* second, Term term) {
  int64_t i = begin;
  for (; i + 4 * width <= end; i += 4 * width) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      TwoTerms a = term(i + j, j), b = term(i + width + j, j);
      TwoTerms c = term(i + 2 * width + j, j), d = term(i + 3 * width + j, j);
      first[j] += (a.first + b.first) + (c.first + d.first);
      second[j] += (a.second + b.second) + (c.second + d.second);
    }
  }
  for (; i < end; i += width) {
    int64_t lanes = std::min(width, end - i);
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) {
      TwoTerms a = term(i + j, j);
      first[j] += a.first;
      second[j] += a.second;
    }
  }
}

// body(i, j) for the elements i of [begin, end), begin at lane 0; j is the lane.
template <typename Body>
void for_each_lane(int64_t begin, int64_t end, int64_t width, Body body) {
  for (int64_t i = begin; i < end; i += width) {
    int64_t lanes = std::min(width, end - i);
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) body(i + j, j);
  }
}

// lanes[c] = sum of the lanes of channel c, for c < channels.
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
