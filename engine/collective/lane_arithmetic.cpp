#include "engine/collective/lane_arithmetic.h"

#include <algorithm>
#include <vector>

#include "engine/collective/accumulate.h"

namespace spire::inline collective {
namespace {

template <typename Body>
void for_chunks(FloatRange range, const Body& body) {
  for (int64_t begin = range.begin; begin < range.end; begin += TreeSum::chunk)
    body(begin, std::min(TreeSum::chunk, range.end - begin));
}

// Whether the buffer is a leaf's that the tree reads after it has begun to write its sum.
bool is_later_leaf(const TreeSum& tree, const float* buffer) {
  auto terms = tree.terms().subspan(1);
  return std::any_of(terms.begin(), terms.end(),
                     [&](const TreeSum::Term& term) { return term.data - term.first == buffer; });
}

class HostArithmetic : public LaneArithmetic {
 public:
  explicit HostArithmetic(int depth)
      : scratch_(static_cast<size_t>(TreeSum::chunk * (1 + depth))) {}

  void add(float* into, const float* from, FloatRange range) override {
    add_floats(into + range.begin, from + range.begin, range.size());
  }
  void sum(const TreeSum& tree, FloatRange range, float* out) override {
    float* scratch = scratch_.data();
    bool in_place = !is_later_leaf(tree, out);
    for_chunks(range, [&](int64_t begin, int64_t count) {
      float* place = in_place ? out + begin : scratch;
      const float* sum = tree.sum(begin, count, place, scratch + TreeSum::chunk);
      if (sum != out + begin) std::copy_n(sum, count, out + begin);
    });
  }
  void square(const float* values, FloatRange range, double* squares) override {
    for_chunks(range, [&](int64_t begin, int64_t count) {
      squares[begin / TreeSum::chunk] = sum_of_squares(values + begin, count);
    });
  }
  void sum_rows(const double* rows, int towers, int64_t count, double* out) override {
    constexpr int64_t width = 64;
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

std::unique_ptr<LaneArithmetic> make_lane_arithmetic(Stream& stream, int depth) {
  if (stream.device().kind == DeviceKind::cuda) return make_cuda_lane_arithmetic(stream, depth);
  return std::make_unique<HostArithmetic>(depth);
}

}  // namespace spire::inline collective
