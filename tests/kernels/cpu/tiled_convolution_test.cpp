#include "kernels/cpu/tiled_convolution.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>

namespace spire::testing {
namespace {

using product::ConvolutionShape;

struct ShapeCase {
  std::string name;
  int64_t n, h, w, c, o;
  Window window = {};

  ConvolutionShape shape() const {
    auto slide = [](int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
      return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    };
    return {n,
            h,
            w,
            c,
            slide(h, window.kernel.h, window.stride.h, window.padding.h, window.dilation.h),
            slide(w, window.kernel.w, window.stride.w, window.padding.w, window.dilation.w),
            o,
            window};
  }
};

const std::vector<ShapeCase> cases = {
    {"dense", 130, 1, 1, 70, 65},
    {"one_column", 7, 1, 1, 3, 1},
    {"deep_sum", 9, 1, 1, 20, 4500},
    {"long_sum", 5, 1, 1, 4700, 19},
    {"pixels", 3, 5, 4, 17, 33},
    {"window_3x3", 2, 9, 8, 16, 70, {{3, 3}, {1, 1}, {1, 1}}},
    {"without_padding", 3, 7, 7, 20, 16, {{3, 3}}},
    {"stride_2", 2, 9, 8, 24, 10, {{3, 3}, {2, 2}, {1, 1}}},
    {"pixels_stride_2", 2, 7, 6, 32, 16, {{1, 1}, {2, 2}}},
    {"stride_3_and_1", 1, 10, 11, 5, 7, {{2, 5}, {3, 1}, {0, 2}}},
    {"stride_beyond_the_window", 2, 11, 10, 6, 5, {{2, 2}, {4, 3}, {1, 0}}},
    {"dilation", 2, 12, 11, 18, 9, {{3, 2}, {1, 2}, {2, 1}, {2, 3}}},
    {"padding_beyond_the_window", 1, 4, 4, 8, 8, {{1, 2}, {1, 1}, {2, 3}}},
};

// Numbers of a tensor, rounded to its dtype, and the same in float64.
struct Numbers {
  DType dtype;
  std::vector<std::byte> bytes;
  std::vector<double> values;

  Numbers(DType type, int64_t count)
      : dtype(type), bytes(static_cast<size_t>(count) * size_of(type)), values(count) {}

  static Numbers random(DType type, int64_t count, unsigned seed) {
    Numbers made(type, count);
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < count; ++i) made.set(i, uniform(generator));
    return made;
  }
  void set(int64_t i, float value) {
    if (dtype == DType::f32) {
      reinterpret_cast<float*>(bytes.data())[i] = value;
      values[i] = value;
    } else {
      bfloat16 rounded(value);
      reinterpret_cast<bfloat16*>(bytes.data())[i] = rounded;
      values[i] = static_cast<float>(rounded);
    }
  }
  double at(size_t i) const {
    if (dtype == DType::f32) return reinterpret_cast<const float*>(bytes.data())[i];
    return static_cast<float>(reinterpret_cast<const bfloat16*>(bytes.data())[i]);
  }
};

// Calls body(index in x, in w, in y) for each product of the convolution.
template <typename Body>
void over_products(const ConvolutionShape& s, const Body& body) {
  const Window& window = s.window;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t i = 0; i < s.oh; ++i)
      for (int64_t j = 0; j < s.ow; ++j)
        for (int64_t r = 0; r < window.kernel.h; ++r)
          for (int64_t t = 0; t < window.kernel.w; ++t) {
            int64_t row = i * window.stride.h - window.padding.h + r * window.dilation.h;
            int64_t column = j * window.stride.w - window.padding.w + t * window.dilation.w;
            if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
            for (int64_t o = 0; o < s.o; ++o)
              for (int64_t c = 0; c < s.c; ++c)
                body(((n * s.h + row) * s.w + column) * s.c + c,
                     ((o * s.c + c) * window.kernel.h + r) * window.kernel.w + t,
                     ((n * s.oh + i) * s.ow + j) * s.o + o);
          }
}

struct Sums {  // in float64, and the sums of absolute values, which bound rounding errors
  std::vector<double> value, magnitude;
  explicit Sums(size_t count) : value(count), magnitude(count) {}
  void add(size_t at, double product) {
    value[at] += product;
    magnitude[at] += std::abs(product);
  }
};

// Sums of n terms in fp32 are off by at most n * eps * magnitude, however they are ordered; a bf16
// result by half of its last place.
void expect_close(const Numbers& got, const Sums& wanted, int64_t terms) {
  const double eps = std::ldexp(1.0, -24), half = got.dtype == DType::f32 ? 0 : std::ldexp(1.0, -8);
  for (size_t i = 0; i < wanted.value.size(); ++i) {
    double bound = static_cast<double>(terms + 2) * eps * wanted.magnitude[i];
    bound += half * (std::abs(wanted.value[i]) + bound);
    ASSERT_LE(std::abs(got.at(i) - wanted.value[i]), bound) << "at " << i;
  }
}

class TiledConvolutionTest : public ::testing::TestWithParam<std::tuple<ShapeCase, DType>> {
 protected:
  ConvolutionShape shape() const { return std::get<0>(GetParam()).shape(); }
  DType dtype() const { return std::get<1>(GetParam()); }
  int64_t x_size() const { return shape().n * shape().h * shape().w * shape().c; }
  int64_t y_size() const { return shape().n * shape().oh * shape().ow * shape().o; }
  int64_t w_size() const { return shape().o * shape().c * shape().taps(); }
  TensorSpec spec(int64_t size, DType type) const { return {{size}, type}; }

  // Runs a kernel on packed weights. Memory around the workspace must stay as it is.
  void run(Kernel& kernel, std::vector<const Numbers*> inputs, std::vector<Numbers*> outputs) {
    std::vector<std::vector<std::byte>> packed;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const Numbers* input : inputs) in.push_back(input->bytes.data());
    for (const Packing& packing : kernel.packings()) {
      packed.emplace_back(packing.bytes);
      auto at = static_cast<size_t>(packing.input);
      packing.pack(reinterpret_cast<const float*>(inputs[at]->bytes.data()), packed.back().data());
      in[at] = packed.back().data();
    }
    for (Numbers* output : outputs) out.push_back(output->bytes.data());
    constexpr size_t guard = 256;
    size_t bytes = kernel.workspace_bytes();
    std::vector<std::byte> workspace(bytes + 2 * guard + 64, std::byte{0x7f});
    auto address = reinterpret_cast<uintptr_t>(workspace.data()) + guard;
    size_t offset = guard + (64 - address % 64) % 64;
    kernel.run({in, out, workspace.data() + offset, nullptr, nullptr});
    for (size_t i = 0; i < offset; ++i) ASSERT_EQ(workspace[i], std::byte{0x7f});
    for (size_t i = offset + bytes; i < workspace.size(); ++i)
      ASSERT_EQ(workspace[i], std::byte{0x7f});
  }
};

TEST_P(TiledConvolutionTest, ForwardIsTheDefinitionOnAnyNumberOfThreads) {
  Numbers x = Numbers::random(dtype(), x_size(), 1), w = Numbers::random(DType::f32, w_size(), 2);
  Numbers bias = Numbers::random(DType::f32, shape().o, 3);
  std::vector<double> factors = w.values;
  if (dtype() == DType::bf16)
    for (double& factor : factors)
      factor = static_cast<float>(bfloat16(static_cast<float>(factor)));
  Sums wanted(y_size());
  for (int64_t i = 0; i < y_size(); ++i) wanted.add(i, bias.values[i % shape().o]);
  over_products(shape(),
                [&](int64_t a, int64_t b, int64_t y) { wanted.add(y, x.values[a] * factors[b]); });
  for (double& value : wanted.value) value = std::max(value, 0.0);
  std::vector<Numbers> results;
  for (int threads : {1, 3}) {
    std::vector<TensorSpec> in = {spec(x_size(), dtype()), spec(w_size(), DType::f32),
                                  spec(shape().o, DType::f32)};
    std::vector<TensorSpec> out = {spec(y_size(), dtype())};
    auto kernel =
        product::tiled_forward(shape(), {.bias = true, .relu = true},
                               {.inputs = in, .outputs = out, .device = {}, .threads = threads});
    results.emplace_back(dtype(), y_size());
    run(*kernel, {&x, &w, &bias}, {&results.back()});
    expect_close(results.back(), wanted, shape().c * shape().taps());
  }
  EXPECT_EQ(results[0].bytes, results[1].bytes);
}

TEST_P(TiledConvolutionTest, DataGradientIsTheDefinitionOnAnyNumberOfThreads) {
  Numbers dy = Numbers::random(dtype(), y_size(), 4), w = Numbers::random(DType::f32, w_size(), 5);
  std::vector<double> factors = w.values;
  if (dtype() == DType::bf16 && shape().taps() > 1)  // plain fp32 weights are used for one tap
    for (double& factor : factors)
      factor = static_cast<float>(bfloat16(static_cast<float>(factor)));
  Sums wanted(x_size());
  over_products(shape(),
                [&](int64_t x, int64_t b, int64_t a) { wanted.add(x, dy.values[a] * factors[b]); });
  std::vector<Numbers> results;
  for (int threads : {1, 3}) {
    std::vector<TensorSpec> in = {spec(y_size(), dtype()), spec(w_size(), DType::f32)};
    std::vector<TensorSpec> out = {spec(x_size(), dtype())};
    auto kernel = product::tiled_backward_data(
        shape(), {.inputs = in, .outputs = out, .device = {}, .threads = threads});
    results.emplace_back(dtype(), x_size());
    run(*kernel, {&dy, &w}, {&results.back()});
    expect_close(results.back(), wanted, shape().o * shape().taps());
  }
  EXPECT_EQ(results[0].bytes, results[1].bytes);
}

TEST_P(TiledConvolutionTest, WeightGradientIsTheDefinitionOnAnyNumberOfThreads) {
  Numbers x = Numbers::random(dtype(), x_size(), 6), dy = Numbers::random(dtype(), y_size(), 7);
  Sums wanted(w_size()), wanted_bias(shape().o);
  over_products(
      shape(), [&](int64_t a, int64_t w, int64_t b) { wanted.add(w, x.values[a] * dy.values[b]); });
  for (int64_t i = 0; i < y_size(); ++i) wanted_bias.add(i % shape().o, dy.values[i]);
  std::vector<Numbers> results;
  for (int threads : {1, 3}) {
    std::vector<TensorSpec> in = {spec(x_size(), dtype()), spec(y_size(), dtype())};
    std::vector<TensorSpec> out = {spec(w_size(), DType::f32), spec(shape().o, DType::f32)};
    auto kernel = product::tiled_backward_weights(
        shape(), true, {.inputs = in, .outputs = out, .device = {}, .threads = threads});
    results.emplace_back(DType::f32, w_size());
    Numbers bias(DType::f32, shape().o);
    run(*kernel, {&x, &dy}, {&results.back(), &bias});
    int64_t positions = shape().n * shape().oh * shape().ow;
    expect_close(results.back(), wanted, positions);
    expect_close(bias, wanted_bias, positions);
  }
  EXPECT_EQ(results[0].bytes, results[1].bytes);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TiledConvolutionTest,
                         ::testing::Combine(::testing::ValuesIn(cases),
                                            ::testing::Values(DType::f32, DType::bf16)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" +
                                  std::string(name(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace spire::testing
