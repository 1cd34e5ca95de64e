#include "kernels/ops/cached_attention/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <tests/kernels/op_test.h>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"

namespace spire::testing {
namespace {

// Texts (N, L, (H + 2 G) D) whose rows are read in pieces.
struct Texts {
  int64_t batch, length, heads, groups, size;
  HostTensor qkv;

  Texts(int64_t n, int64_t l, int64_t h, int64_t g, int64_t d)
      : batch(n),
        length(l),
        heads(h),
        groups(g),
        size(d),
        qkv(on_grid(uniform({n, l, (h + 2 * g) * d}, 371, -2, 2))) {}

  int64_t width() const { return (heads + 2 * groups) * size; }
  // Element c of part `head` (of H heads of q, then G of k, then G of v) of a position.
  double at(int64_t sample, int64_t position, int64_t head, int64_t c) const {
    return qkv[(sample * length + position) * width() + head * size + c];
  }
};

// y of one head at one position. magnitude: the sum of |p v|, with the rounding of p's exponent.
std::vector<double> attend(const Texts& t, int64_t n, int64_t position, int64_t head,
                           bool magnitude) {
  int64_t key = t.heads + head / (t.heads / t.groups), value = key + t.groups;
  std::vector<double> y(static_cast<size_t>(t.size));
  double total = 0;
  for (int64_t j = 0; j <= position; ++j) {
    double score = 0, terms = 0;
    for (int64_t c = 0; c < t.size; ++c) {
      double term = t.at(n, position, head, c) * t.at(n, j, key, c);
      score += term / std::sqrt(static_cast<double>(t.size));
      terms += std::abs(term) / std::sqrt(static_cast<double>(t.size));
    }
    double p = std::exp(score);
    total += p;
    for (int64_t c = 0; c < t.size; ++c) {
      double v = t.at(n, j, value, c);
      y[static_cast<size_t>(c)] += magnitude ? p * (1 + terms) * std::abs(v) : p * v;
    }
  }
  for (double& number : y) number /= total;
  return y;
}

// The rows of positions [first, first + count) of all texts; the other rows are padding.
OpCase piece(const Texts& t, int64_t first, int64_t count, int64_t rows,
             const CachedAttentionAttributes& attributes) {
  HostTensor qkv = zeros({t.batch, rows, t.width()}), positions = zeros({t.batch, rows});
  std::fill(positions.data.begin(), positions.data.end(), -1);
  for (int64_t n = 0; n < t.batch; ++n) {
    for (int64_t r = 0; r < count; ++r) {
      positions[n * rows + r] = static_cast<double>(first + r);
      for (int64_t c = 0; c < t.width(); ++c)
        qkv[(n * rows + r) * t.width() + c] = t.at(n, first + r, 0, c);
    }
  }
  auto compute = [=](bool magnitude) {
    HostTensor y = zeros({t.batch, rows, t.heads * t.size});
    for (int64_t n = 0; n < t.batch; ++n)
      for (int64_t r = 0; r < count; ++r)
        for (int64_t h = 0; h < t.heads; ++h)
          std::ranges::copy(attend(t, n, first + r, h, magnitude),
                            y.data.begin() + ((n * rows + r) * t.heads + h) * t.size);
    return std::vector<HostTensor>{y};
  };
  OpCase test(CachedAttentionOp(attributes), {activation(qkv), labels(positions)},
              [=](Tensors) { return compute(false); });
  test.magnitude = [=](Tensors) { return compute(true); };
  return test;
}

// Lets a kernel reserve its memory, and allocates it.
void allocate(const Texts& t, const CachedAttentionAttributes& attributes,
              const Environment& environment) {
  TensorSpec qkv{{t.batch, 1, t.width()}, environment.dtype}, positions{{t.batch, 1}, DType::i32};
  CachedAttentionOp op(attributes);
  std::vector<TensorSpec> inputs = {qkv, positions}, outputs = op.infer(inputs);
  make_current(environment.device);
  make_kernel(op, {.inputs = inputs, .outputs = outputs, .device = environment.device});
  MemoryPool pool{environment.device};
  attributes.cache->allocate(pool);
}

class CachedAttentionTest : public OpTest {
 protected:
  // Reads texts in pieces of the given numbers of tokens.
  static void read(const Texts& t, const std::vector<int64_t>& pieces) {
    KeyValueCache cache;
    CachedAttentionAttributes attributes{
        .heads = t.heads, .kv_heads = t.groups, .window = t.length, .layer = 1, .cache = &cache};
    allocate(t, attributes, GetParam());
    int64_t first = 0;
    for (int64_t count : pieces) {
      SCOPED_TRACE(first);
      int64_t rows = count == 1 ? 1 : count + 2;
      check_values(piece(t, first, count, rows, attributes), GetParam());
      first += count;
    }
    EXPECT_EQ(first, t.length);
  }
};

TEST_P(CachedAttentionTest, ReadsTextsInPieces) {
  read(Texts(2, 9, 2, 2, 16), {5, 1, 1, 2});
  read(Texts(1, 70, 3, 3, 10), {63, 1, 1, 1, 4});
  read(Texts(1, 6, 1, 1, 1), {1, 1, 1, 1, 1, 1});
}

TEST_P(CachedAttentionTest, HeadsShareKeysAndValues) {
  read(Texts(2, 7, 4, 2, 8), {3, 1, 3});
  read(Texts(1, 21, 6, 1, 33), {18, 1, 1, 1});
}

TEST_P(CachedAttentionTest, HeadsOfEverySize) {
  for (int64_t size : {31, 64, 72, 128, 200}) read(Texts(1, 4, 2, 2, size), {2, 1, 1});
}

SPIRE_TEST_EVERYWHERE(CachedAttentionTest);

TEST(CachedAttentionOp, RefusesInputsThatDoNotFit) {
  KeyValueCache cache;
  CachedAttentionOp op({.heads = 4, .kv_heads = 2, .window = 5, .layer = 0, .cache = &cache});
  TensorSpec positions{{2, 3}, DType::i32};
  EXPECT_EQ(op.infer(std::vector{f32({2, 3, 64}), positions})[0], f32({2, 3, 32}));
  EXPECT_NE(refusal(op, {f32({2, 3, 63}), positions}), "accepted");
  EXPECT_NE(refusal(op, {f32({2, 4, 64}), positions}), "accepted");
  EXPECT_NE(refusal(op, {f32({2, 3, 64}), f32({2, 3})}), "accepted");
  EXPECT_NE(refusal(op, {f32({2, 64}), positions}), "accepted");
  CachedAttentionOp uneven({.heads = 4, .kv_heads = 3, .window = 5, .layer = 0, .cache = &cache});
  EXPECT_NE(refusal(uneven, {f32({2, 3, 100}), positions}), "accepted");
}

TEST(KeyValueCache, HasOneSizeOfEachLayer) {
  KeyValueCache cache;
  cache.reserve(1, 100);
  cache.reserve(0, 300);
  cache.reserve(1, 100);
  EXPECT_THROW(cache.reserve(1, 300), Error);
  EXPECT_EQ(cache.bytes(), 512u + 256u);
  MemoryPool pool{DeviceId{}};
  cache.allocate(pool);
  EXPECT_EQ(cache.layer<std::byte>(1) - cache.layer<std::byte>(0), 512);
  EXPECT_THROW(cache.reserve(2, 100), Error);
}

}  // namespace
}  // namespace spire::testing
