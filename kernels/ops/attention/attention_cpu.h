// Attention on the CPU: blocks of rows of a head, as fp32 in a thread's workspace, and dropout of
// their scores. For attention's .cpp files.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/simd.h"
#include "kernels/elementary.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/dropout/dropout_bits.h"

namespace spire::attention_cpu {

constexpr int64_t block = 64;  // queries or keys per block
// Queries that are computed together, a strip. Its scores are computed for the keys up to its last
// query, so a causal mask wastes at most one 16 x 16 square of scores per strip.
constexpr int64_t strip = lane_count;
constexpr int64_t rows_ahead = 8;  // load_rows and store_rows prefetch so many rows ahead

// Sizes of a run, and which keys a query sees.
struct HeadBlocks {
  int64_t batch, length, heads;     // N, T, H
  int64_t size, padded;             // D, and D rounded up to whole registers
  int64_t group, kv_heads, packed;  // H / K, K, and the columns of qkv
  int64_t blocks;                   // number of blocks in T
  bool causal;
  float dropout, scale;  // scale: 1 / sqrt(D)
  int threads;

  HeadBlocks(const AttentionAttributes& attributes, const Shape& qkv, int thread_count)
      : batch(qkv[0]),
        length(qkv[1]),
        heads(attributes.heads),
        size(packed_heads(attributes, qkv).size),
        padded(whole_registers(size)),
        group(packed_heads(attributes, qkv).group()),
        kv_heads(packed_heads(attributes, qkv).kv_heads),
        packed(qkv[2]),
        blocks((length + block - 1) / block),
        causal(attributes.causal),
        dropout(attributes.dropout),
        scale(1 / std::sqrt(static_cast<float>(size))),
        threads(thread_count) {}

  int64_t width() const { return heads * size; }        // C
  int64_t kv_width() const { return kv_heads * size; }  // from a head's k to its v
  // Offsets of the first element of a head's q, and of its k, from the sample's first element of
  // qkv.
  int64_t queries_at(int64_t head) const { return head * size; }
  int64_t keys_at(int64_t head) const { return width() + head / group * size; }
  int64_t block_floats() const { return block * padded; }  // of a block of rows of a head
  int64_t rows_of(int64_t index) const { return std::min(block, length - index * block); }
  int64_t key_blocks(int64_t query_block) const { return causal ? query_block + 1 : blocks; }
  int64_t strips() const { return (length + strip - 1) / strip; }  // of queries
  // Returns the number of keys that a query sees, at least one.
  int64_t seen(int64_t query) const { return causal ? query + 1 : length; }
};

// Copies `from` (rows, D), whose rows are `stride` apart, times `factor` to `to` (capacity,
// padded); the rest of `to` becomes 0.
template <typename T>
void load_rows(const HeadBlocks& e, const T* from, int64_t stride, int64_t rows, float factor,
               float* to, int64_t capacity) {
  for (int64_t r = 0; r < rows; ++r) {
    over_lanes(e.size, [&](int64_t c, auto count) {
      __builtin_prefetch(from + (r + rows_ahead) * stride + c);
      store_floats(factor * load_floats(from + r * stride + c, count), to + r * e.padded + c,
                   lane_count);
    });
  }
  std::fill_n(to + rows * e.padded, (capacity - rows) * e.padded, 0.0f);
}

// Copies `from` (rows, D) transposed to `to` (padded, 64); the rest of `to` becomes 0.
template <typename T>
void load_columns(const HeadBlocks& e, const T* from, int64_t stride, int64_t rows, float* to) {
  for (int64_t r = 0; r < block; r += lane_count) {
    over_lanes(e.size, [&](int64_t c, auto count) {
      FloatLanes tile[lane_count];
      for (int i = 0; i < lane_count; ++i) {
        __builtin_prefetch(from + (r + i + lane_count) * stride + c);
        tile[i] = r + i < rows ? load_floats(from + (r + i) * stride + c, count) : FloatLanes{};
      }
      transpose_lanes(tile);
      for (int i = 0; i < lane_count; ++i) {
        store_floats(tile[i], to + (c + i) * block + r, lane_count);
      }
    });
  }
}

// Copies `from` (rows, padded) times `factor` to `to` (rows, D), whose rows are `stride` apart.
template <typename T>
void store_rows(const HeadBlocks& e, const float* from, int64_t rows, float factor, T* to,
                int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    over_lanes(e.size, [&](int64_t c, auto count) {
      __builtin_prefetch(to + (r + rows_ahead) * stride + c, 1);
      FloatLanes lanes = factor * load_floats(from + r * e.padded + c, lane_count);
      store_floats(lanes, to + r * stride + c, count);
    });
  }
}

// Returns the lanes with the first `count` replaced by `number`.
inline FloatLanes without_first(const FloatLanes& lanes, int64_t count, float number) {
  constexpr IntLanes numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return numbers < static_cast<int>(count) ? FloatLanes{} + number : lanes;
}

struct SoftmaxRow {
  float most, total;  // the largest score, and the sum of e^(score - most)
};

// Replaces the first `seen` scores of a row by e^(score - most), and the scores after them, up to
// the end of their last register, by 0.
inline SoftmaxRow exponentiate(float* row, int64_t seen) {
  const int64_t last = whole_registers(seen) - lane_count, left = seen - last;
  FloatLanes tail = load_floats(row + last, lane_count);
  FloatLanes lanes = first_lanes(tail, left, row[0]), total{};
  for (int64_t j = 0; j < last; j += lane_count)
    lanes = larger(lanes, load_floats(row + j, lane_count));
  float most = largest_of(lanes);
  for (int64_t j = 0; j < last; j += lane_count) {
    FloatLanes p = exponential(load_floats(row + j, lane_count) - most);
    total += p;
    store_floats(p, row + j, lane_count);
  }
  tail = first_lanes(exponential(tail - most), left, 0);
  store_floats(tail, row + last, lane_count);
  return {most, sum_of(total + tail)};
}

// As exponentiate(), for a query that sees only the scores [first, seen) of the row: scores [from,
// first) become 0. from: a multiple of lane_count.
inline SoftmaxRow exponentiate_from(float* row, int64_t from, int64_t first, int64_t seen) {
  const int64_t begin = first / lane_count * lane_count, hidden = first - begin;
  std::fill(row + from, row + begin, 0.0f);
  FloatLanes lanes = load_floats(row + begin, lane_count);
  constexpr float unseen = -std::numeric_limits<float>::infinity();
  store_floats(without_first(lanes, hidden, unseen), row + begin, lane_count);
  // Each hidden score adds e^-87 to the total, which is at least 1: that changes nothing in fp32.
  SoftmaxRow result = exponentiate(row + begin, seen - begin);
  std::fill(row + begin, row + first, 0.0f);
  return result;
}

// Draws keep_ij for one head of one sample.
class DropoutMask {
 public:
  DropoutMask(const HeadBlocks& e, const StepContext& step, int32_t key, int64_t sample,
              int64_t head)
      : stream_(dropout_stream(step, key, sample)),
        first_(head * e.length * e.blocks * block),
        pitch_(e.blocks * block),
        threshold_(dropout_threshold(e.dropout)),
        scale_(1 / (1 - e.dropout)) {}

  // Draws keep[j] for the block's 64 keys.
  void row(int64_t query, int64_t key_block, float* keep) const {
    alignas(64) uint32_t bits[block];
    draw_bits<block>(stream_, first_ + query * pitch_ + key_block * block, bits);
#pragma omp simd
    for (int64_t j = 0; j < block; ++j) keep[j] = bits[j] >= threshold_ ? scale_ : 0.0f;
  }

 private:
  RandomStream stream_;
  int64_t first_, pitch_;
  uint32_t threshold_;
  float scale_;
};

}  // namespace spire::attention_cpu
