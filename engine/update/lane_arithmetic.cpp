#include "engine/update/lane_arithmetic.h"

#include <algorithm>
#include <vector>

#include "engine/base/fail.h"
#include "engine/device/stream.h"

namespace spire {

void add_floats(float* __restrict into, const float* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) into[i] += from[i];
}

double sum_of_squares(const float* values, int64_t count) {
  // Sixteen interleaved partial sums, as the widest vector registers have; they are added in order.
  constexpr int64_t width = 16;
  double partial[width] = {};
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    for (int64_t lane = 0; lane < width; ++lane) {
      double value = values[i + lane];
      partial[lane] += value * value;
    }
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) partial[lane] += double{values[i]} * values[i];
  double sum = 0;
  for (double part : partial) sum += part;
  return sum;
}

namespace {

// Returns true if the buffer is that of a later leaf, which a sum reads after it has begun to
// write.
bool is_later_leaf(const TreeSum& tree, const float* buffer) {
  auto terms = tree.terms().subspan(1);
  return std::any_of(terms.begin(), terms.end(), [&](const TreeSum::Term& term) {
    return term.data && term.data - term.first == buffer;
  });
}

// The CPU's arithmetic: complete when a call returns.
class HostArithmetic : public LaneArithmetic {
 public:
  explicit HostArithmetic(int depth)
      : scratch_(static_cast<size_t>(TreeSum::chunk * (1 + depth))) {}

  void add(float* into, const float* from, FloatRange range) override {
    add_floats(into + range.begin, from + range.begin, range.size());
  }
  void round(float* values, FloatRange range) override {
    for (int64_t i = range.begin; i < range.end; ++i)
      values[i] = static_cast<float>(bfloat16(values[i]));
  }
  void narrow(const float* from, int64_t count, bfloat16* to) override {
    for (int64_t i = 0; i < count; ++i) to[i] = bfloat16(from[i]);
  }
  void widen(const bfloat16* from, int64_t count, float* to) override {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
  }
  void sum(const TreeSum& tree, FloatRange range, float* out) override {
    // The first chunk of scratch takes the sum where `out` is still to be read.
    float* scratch = scratch_.data();
    bool in_place = !is_later_leaf(tree, out);
    for_chunks(range, [&](FloatRange chunk) {
      float* place = in_place ? out + chunk.begin : scratch;
      const float* sum = tree.sum(chunk.begin, chunk.size(), place, scratch + TreeSum::chunk);
      if (sum != out + chunk.begin) std::copy_n(sum, chunk.size(), out + chunk.begin);
    });
  }
  void square(const float* values, FloatRange range, double* squares) override {
    for_chunks(range, [&](FloatRange chunk) {
      squares[chunk.begin / TreeSum::chunk] = sum_of_squares(values + chunk.begin, chunk.size());
    });
  }
  void sum_rows(const double* rows, int towers, int64_t count, double* out) override {
    constexpr int64_t width = 64;
    // The stack of TreeSum::Term, `width` columns at a time.
    double stack[max_depth][width];
    for (int64_t begin = 0; begin < count; begin += width) {
      int64_t n = std::min(width, count - begin);
      int depth = 0;
      for (int tower = 0; tower < towers; ++tower) {
        std::copy_n(rows + tower * count + begin, n, stack[depth++]);
        for (int a = additions_after(tower, towers); a > 0; --a, --depth)
          for (int64_t i = 0; i < n; ++i) stack[depth - 2][i] += stack[depth - 1][i];
      }
      std::copy_n(stack[0], n, out + begin);
    }
  }

 private:
  std::vector<float> scratch_;
};

}  // namespace

void expect_gpu_tree(const TreeSum& tree) {
  constexpr int leaves = LaneArithmetic::max_gpu_leaves, depth = LaneArithmetic::max_depth;
  require(tree.terms().size() <= leaves && tree.depth() <= depth,
          "a tree of {} leaves, {} deep: a GPU adds up {} and {} at most", tree.terms().size(),
          tree.depth(), leaves, depth);
}

std::unique_ptr<LaneArithmetic> make_lane_arithmetic(Stream& stream, int depth) {
  DeviceId device = stream.device();
  if (device.kind == DeviceKind::cuda)
    return make_cuda_lane_arithmetic(device.index, stream.native());
  return std::make_unique<HostArithmetic>(depth);
}

}  // namespace spire
