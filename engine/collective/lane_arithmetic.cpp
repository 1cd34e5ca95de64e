#include <spire/collective/lane_arithmetic.h>

#include <algorithm>
#include <vector>

#include <spire/collective/accumulate.h>

namespace spire {
namespace {

template <typename Body>
void for_chunks(FloatRange range, const Body& body) {
  for (int64_t begin = range.begin; begin < range.end; begin += TreeSum::chunk)
    body(begin, std::min(TreeSum::chunk, range.end - begin));
}

class HostArithmetic : public LaneArithmetic {
 public:
  explicit HostArithmetic(int depth) : scratch_(static_cast<size_t>(TreeSum::chunk * depth)) {}

  void add(float* into, const float* from, FloatRange range) override {
    add_floats(into + range.begin, from + range.begin, range.size());
  }
  void sum(const TreeSum& tree, FloatRange range, float* out) override {
    for_chunks(range, [&](int64_t begin, int64_t count) {
      const float* sum = tree.sum(begin, count, out + begin, scratch_.data());
      if (sum != out + begin) std::copy_n(sum, count, out + begin);  // the only leaf
    });
  }
  void square(const float* values, FloatRange range, double* squares) override {
    for_chunks(range, [&](int64_t begin, int64_t count) {
      squares[begin / TreeSum::chunk] = sum_of_squares(values + begin, count);
    });
  }

 private:
  std::vector<float> scratch_;
};

}  // namespace

std::unique_ptr<LaneArithmetic> make_lane_arithmetic(Stream& stream, int depth) {
  if (stream.device().kind == DeviceKind::cuda) return make_cuda_lane_arithmetic(stream, depth);
  return std::make_unique<HostArithmetic>(depth);
}

}  // namespace spire
