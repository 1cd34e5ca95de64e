#include "kernels/cpu/tiled_convolution.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <tests/kernels/cpu/winograd_magnitudes.h>

#include <spire/packing.h>

#include "kernels/cpu/winograd.h"

namespace spire::testing {
namespace {

product::ConvolutionShape shape_of(int64_t n, int64_t h, int64_t w, int64_t c, int64_t o,
                                   const Window& window) {
  auto slide = [](int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  const auto& [kernel, stride, padding, dilation] = window;
  return {.n = n,
          .h = h,
          .w = w,
          .c = c,
          .oh = slide(h, kernel.h, stride.h, padding.h, dilation.h),
          .ow = slide(w, kernel.w, stride.w, padding.w, dilation.w),
          .o = o,
          .window = window};
}

struct ShapeCase {
  std::string name;
  int64_t n, h, w, c, o;
  Window window = {};
  bool bias = true;
  bool winograd = false;
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
    {"no_window_reaches_x", 2, 1, 1, 8, 5, {{1, 1}, {6, 6}, {2, 2}}},
    {"no_window_reaches_the_column", 2, 5, 1, 8, 5, {{1, 1}, {6, 6}, {2, 2}}},
    {"without_bias", 2, 6, 5, 16, 20, {{3, 3}, {1, 1}, {1, 1}}, false},
    // More than one block of rows or images; more than one chunk of a sum.
    {"dense_blocks", 2100, 1, 1, 20, 18},
    {"image_blocks", 19, 12, 11, 5, 6, {{3, 3}, {1, 1}, {1, 1}}},
    {"deep_blocks", 600, 1, 1, 3, 4100},
    {"long_window", 1, 5, 5, 300, 17, {{3, 3}, {1, 1}, {1, 1}}},
    {"long_window_of_dy", 1, 6, 6, 9, 700, {{3, 3}, {2, 2}, {1, 1}}},
    {"large_dw", 600, 1, 1, 600, 500},
};

const Window same = {{3, 3}, {1, 1}, {1, 1}};
const std::vector<ShapeCase> winograd_cases = {
    {"whole_tiles", 2, 8, 6, 32, 16, same, true, true},
    {"odd_sides", 3, 7, 9, 16, 48, same, true, true},
    {"without_padding", 2, 7, 6, 16, 16, {{3, 3}}, true, true},
    {"wide_padding", 2, 5, 6, 16, 32, {{3, 3}, {1, 1}, {2, 2}}, true, true},
    {"unequal_padding", 2, 5, 6, 16, 32, {{3, 3}, {1, 1}, {2, 0}}, true, true},
    {"one_pixel", 2, 1, 1, 32, 16, same, true, true},
    {"one_window", 1, 3, 3, 16, 16, {{3, 3}}, false, true},
    {"several_panels", 1, 4, 6, 80, 144, same, false, true},
    {"several_blocks", 9, 14, 13, 32, 48, same, true, true},
};

// A tensor, rounded to its dtype, and the same in float64.
struct TestTensor {
  DType dtype;
  std::vector<std::byte> bytes;
  std::vector<double> values;

  TestTensor(DType type, int64_t count)
      : dtype(type), bytes(static_cast<size_t>(count) * size_of(type)), values(count) {}

  static TestTensor random(DType type, int64_t count, unsigned seed) {
    TestTensor made(type, count);
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
  TensorSpec spec() const { return {{static_cast<int64_t>(values.size())}, dtype}; }
  double at(size_t i) const {
    if (dtype == DType::f32) return reinterpret_cast<const float*>(bytes.data())[i];
    return static_cast<float>(reinterpret_cast<const bfloat16*>(bytes.data())[i]);
  }
};

// Calls body(x, w, y) for the C products of numbers x + c of x and w + c * taps of w, which belong
// to number y of y.
template <typename Body>
void over_products(const product::ConvolutionShape& s, const Body& body) {
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
              body(((n * s.h + row) * s.w + column) * s.c,
                   (o * s.c * window.kernel.h + r) * window.kernel.w + t,
                   ((n * s.oh + i) * s.ow + j) * s.o + o);
          }
}

struct ReferenceSums {  // in float64, and the sums of absolute values, which bound rounding errors
  std::vector<double> value, magnitude;
  explicit ReferenceSums(size_t count) : value(count), magnitude(count) {}
  void add(size_t at, double term) {
    value[at] += term;
    magnitude[at] += std::abs(term);
  }
  // Adds the products of `count` numbers.
  void add_dot(size_t at, const double* a, const double* b, int64_t b_stride, int64_t count) {
    double sum = 0, absolute = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += a[i] * b[i * b_stride];
      absolute += std::abs(a[i] * b[i * b_stride]);
    }
    value[at] += sum;
    magnitude[at] += absolute;
  }
  // Adds factor * a to `count` numbers, `stride` apart.
  void add_multiple(size_t first, int64_t stride, double factor, const double* a, int64_t a_stride,
                    int64_t count) {
    double *values = &value[first], *magnitudes = &magnitude[first];
    for (int64_t i = 0; i < count; ++i) {
      values[i * stride] += factor * a[i * a_stride];
      magnitudes[i * stride] += std::abs(factor * a[i * a_stride]);
    }
  }
};

// ReferenceSums of n terms in fp32 are off by at most n * eps * magnitude, however they are
// ordered; a bf16 result by half of its last place.
void expect_close(const TestTensor& got, const ReferenceSums& wanted, int64_t terms) {
  const double eps = std::ldexp(1.0, -24), half = got.dtype == DType::f32 ? 0 : std::ldexp(1.0, -8);
  for (size_t i = 0; i < wanted.value.size(); ++i) {
    double bound = static_cast<double>(terms + 2) * eps * wanted.magnitude[i];
    bound += half * (std::abs(wanted.value[i]) + bound);
    ASSERT_LE(std::abs(got.at(i) - wanted.value[i]), bound) << "at " << i;
  }
}

// Memory of a kernel between bytes that must stay as they are.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) : memory_(bytes + 2 * guard + alignment, untouched) {
    auto address = reinterpret_cast<uintptr_t>(memory_.data()) + guard;
    begin_ = guard + (alignment - address % alignment) % alignment;
    end_ = begin_ + bytes;
  }

  std::byte* begin() { return memory_.data() + begin_; }
  std::byte* end() { return memory_.data() + end_; }
  bool intact() const {
    auto is_untouched = [](std::byte byte) { return byte == untouched; };
    auto first = memory_.begin();
    return std::all_of(first, first + static_cast<ptrdiff_t>(begin_), is_untouched) &&
           std::all_of(first + static_cast<ptrdiff_t>(end_), memory_.end(), is_untouched);
  }

 private:
  static constexpr size_t guard = 256, alignment = 64;
  static constexpr std::byte untouched{0x7f};
  std::vector<std::byte> memory_;
  size_t begin_ = 0, end_ = 0;
};

class TiledConvolutionTest : public ::testing::TestWithParam<std::tuple<ShapeCase, DType>> {
 public:  // tests take pointers to its kernels
  DType dtype() const { return std::get<1>(GetParam()); }
  bool winograd() const { return std::get<0>(GetParam()).winograd; }
  bool with_bias() const { return std::get<0>(GetParam()).bias; }  // and, forward, with relu
  TestTensor random_x(unsigned seed) const { return TestTensor::random(dtype(), x_size(), seed); }
  TestTensor random_y(unsigned seed) const { return TestTensor::random(dtype(), y_size(), seed); }
  TestTensor random_w(unsigned seed) const {
    return TestTensor::random(DType::f32, w_size(), seed);
  }
  TestTensor random_bias() const { return TestTensor::random(DType::f32, s.o, 3); }

  Kernel forward(const KernelRequest& request) const {
    product::ForwardOptions options{.bias = with_bias(), .relu = with_bias()};
    return winograd() ? winograd::forward(s, options, request)
                      : product::tiled_forward(s, options, request);
  }
  Kernel backward_data(const KernelRequest& request) const {
    return winograd() ? winograd::backward_data(s, request)
                      : product::tiled_backward_data(s, request);
  }
  Kernel backward_weights(const KernelRequest& request) const {
    return winograd() ? winograd::backward_weights(s, with_bias(), request)
                      : product::tiled_backward_weights(s, with_bias(), request);
  }

  // Roundings behind one another in a sum of products over `count` channels or tiles: Winograd's
  // have at most 10 in the transforms of both operands and of the result, and one for the bias.
  int64_t roundings(int64_t count) const { return winograd() ? count + 11 : count * s.taps(); }

  // Weights as the kernel multiplies them: plain fp32 is used for one tap of a data gradient, and
  // by Winograd's algorithm.
  std::vector<double> factors(const TestTensor& w, bool plain) const {
    std::vector<double> factors = w.values;
    if (dtype() == DType::bf16 && !plain && !winograd())
      for (double& factor : factors)
        factor = static_cast<float>(bfloat16(static_cast<float>(factor)));
    return factors;
  }

  // Writes the outputs of the kernel that `make` makes for these tensors, on packed weights. Memory
  // around all that it is given must stay as it is.
  using Make = Kernel (TiledConvolutionTest::*)(const KernelRequest& request) const;
  void run(Make make, int threads, const std::vector<const TestTensor*>& inputs,
           const std::vector<TestTensor*>& outputs) {
    std::vector<TensorSpec> in_specs, out_specs;
    std::vector<GuardedMemory> packed, written;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const TestTensor* input : inputs) {
      in_specs.push_back(input->spec());
      in.push_back(input->bytes.data());
    }
    for (const TestTensor* output : outputs) {
      out_specs.push_back(output->spec());
      written.emplace_back(output->bytes.size());
      out.push_back(written.back().begin());
    }
    Kernel kernel =
        (this->*make)({.inputs = in_specs, .outputs = out_specs, .device = {}, .threads = threads});
    for (const Packing& packing : kernel.packings()) {
      auto at = static_cast<size_t>(packing.input);
      packed.emplace_back(packing.bytes);
      packing.pack(reinterpret_cast<const float*>(inputs[at]->bytes.data()), packed.back().begin());
      in[at] = packed.back().begin();
    }
    GuardedMemory workspace(kernel.workspace_bytes());
    kernel.run({in, out, workspace.begin(), nullptr, nullptr});
    EXPECT_TRUE(workspace.intact());
    for (const GuardedMemory& memory : packed) EXPECT_TRUE(memory.intact());
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(written[i].intact()) << "output " << i;
      std::copy(written[i].begin(), written[i].end(), outputs[i]->bytes.begin());
    }
  }

  // Checks the outputs on 1 and on 3 threads, whose bits must be equal.
  struct Wanted {
    DType dtype;
    ReferenceSums sums;
    int64_t terms;
  };
  void check(Make make, const std::vector<const TestTensor*>& inputs,
             const std::vector<Wanted>& wanted) {
    std::vector<std::vector<std::byte>> of_one_thread;
    for (int threads : {1, 3}) {
      std::vector<TestTensor> results;
      std::vector<TestTensor*> outputs;
      results.reserve(wanted.size());
      for (const Wanted& output : wanted)
        outputs.push_back(
            &results.emplace_back(output.dtype, static_cast<int64_t>(output.sums.value.size())));
      run(make, threads, inputs, outputs);
      for (size_t i = 0; i < wanted.size(); ++i) {
        expect_close(results[i], wanted[i].sums, wanted[i].terms);
        if (threads == 1) of_one_thread.push_back(results[i].bytes);
        EXPECT_EQ(results[i].bytes, of_one_thread[i]);
      }
    }
  }

  const ShapeCase& c = std::get<0>(GetParam());
  const product::ConvolutionShape s = shape_of(c.n, c.h, c.w, c.c, c.o, c.window);
  int64_t x_size() const { return s.n * s.h * s.w * s.c; }
  int64_t y_size() const { return s.n * s.oh * s.ow * s.o; }
  int64_t w_size() const { return s.o * s.c * s.taps(); }
};

TEST_P(TiledConvolutionTest, ForwardIsTheDefinitionOnAnyNumberOfThreads) {
  TestTensor x = random_x(1), w = random_w(2), bias = random_bias();
  std::vector<double> factors = this->factors(w, false);
  ReferenceSums wanted(y_size());
  over_products(s, [&](int64_t a, int64_t b, int64_t y) {
    wanted.add_dot(y, &x.values[a], &factors[b], s.taps(), s.c);
  });
  if (winograd()) wanted.magnitude = WinogradMagnitudes::forward(s, x.values, factors);
  std::vector<const TestTensor*> inputs = {&x, &w};
  if (with_bias()) {
    inputs.push_back(&bias);
    for (int64_t i = 0; i < y_size(); ++i) wanted.add(i, bias.values[i % s.o]);
    for (double& value : wanted.value) value = std::max(value, 0.0);
  }
  check(&TiledConvolutionTest::forward, inputs, {{dtype(), wanted, roundings(s.c)}});
}

// A NaN reaches all sums that read it, also through a relu, and with Winograd's algorithm those of
// the same tile, but no others.
TEST_P(TiledConvolutionTest, ForwardKeepsNaN) {
  TestTensor x = random_x(1), w = random_w(2), bias = random_bias(), y(dtype(), y_size());
  const int64_t at = x_size() / 2 / s.c * s.c;  // of the pixel that has it
  x.set(at, std::nanf(""));
  std::vector<bool> wanted(static_cast<size_t>(y_size())), tile = wanted;
  over_products(s, [&](int64_t a, int64_t, int64_t number) {
    if (a != at) return;
    wanted[static_cast<size_t>(number)] = true;
    int64_t i = number / s.o / s.ow % s.oh, j = number / s.o % s.ow;
    int64_t first = number - (i % 2 * s.ow + j % 2) * s.o;
    for (int64_t p = 0; p < std::min<int64_t>(2, s.oh - i / 2 * 2); ++p)
      for (int64_t q = 0; q < std::min<int64_t>(2, s.ow - j / 2 * 2); ++q)
        tile[static_cast<size_t>(first + (p * s.ow + q) * s.o)] = true;
  });
  std::vector<const TestTensor*> inputs = {&x, &w};
  if (with_bias()) inputs.push_back(&bias);
  run(&TiledConvolutionTest::forward, 1, inputs, {&y});
  for (size_t i = 0; i < wanted.size(); ++i) {
    bool nan = std::isnan(y.at(i));
    ASSERT_TRUE(nan ? wanted[i] || (winograd() && tile[i]) : !wanted[i]) << "at " << i;
  }
}

TEST_P(TiledConvolutionTest, DataGradientIsTheDefinitionOnAnyNumberOfThreads) {
  TestTensor dy = random_y(4), w = random_w(5);
  std::vector<double> factors = this->factors(w, s.taps() == 1);
  ReferenceSums wanted(x_size());
  over_products(s, [&](int64_t x, int64_t b, int64_t a) {
    wanted.add_multiple(x, 1, dy.values[a], &factors[b], s.taps(), s.c);
  });
  if (winograd()) wanted.magnitude = WinogradMagnitudes::backward_data(s, dy.values, factors);
  check(&TiledConvolutionTest::backward_data, {&dy, &w}, {{dtype(), wanted, roundings(s.o)}});
}

TEST_P(TiledConvolutionTest, WeightGradientIsTheDefinitionOnAnyNumberOfThreads) {
  TestTensor x = random_x(6), dy = random_y(7);
  ReferenceSums wanted(w_size()), wanted_bias(s.o);
  over_products(s, [&](int64_t a, int64_t w, int64_t b) {
    wanted.add_multiple(w, s.taps(), dy.values[b], &x.values[a], 1, s.c);
  });
  if (winograd()) wanted.magnitude = WinogradMagnitudes::backward_weights(s, x.values, dy.values);
  for (int64_t i = 0; i < y_size(); ++i) wanted_bias.add(i % s.o, dy.values[i]);
  int64_t positions = s.n * s.oh * s.ow, tiles = s.n * ((s.oh + 1) / 2) * ((s.ow + 1) / 2);
  std::vector<Wanted> outputs = {{DType::f32, wanted, winograd() ? roundings(tiles) : positions},
                                 {DType::f32, wanted_bias, positions}};
  if (!with_bias()) outputs.pop_back();
  check(&TiledConvolutionTest::backward_weights, {&x, &dy}, outputs);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<ShapeCase, DType>>& test) {
  return std::get<0>(test.param).name + "_" + std::string(to_string(std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(Tiles, TiledConvolutionTest,
                         ::testing::Combine(::testing::ValuesIn(cases),
                                            ::testing::Values(DType::f32, DType::bf16)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Winograd, TiledConvolutionTest,
                         ::testing::Combine(::testing::ValuesIn(winograd_cases),
                                            ::testing::Values(DType::f32, DType::bf16)),
                         name_of);

// Which convolutions Winograd's algorithm computes, and which it is given (docs/numerics.md).
product::ConvolutionShape two_images(int64_t h, int64_t w, int64_t c, int64_t o,
                                     const Window& window = same) {
  return shape_of(2, h, w, c, o, window);
}

TEST(WinogradRules, ComputesWindowsOf3x3WithoutStrideAndDilation) {
  EXPECT_TRUE(winograd::computes(two_images(9, 8, 16, 48)));
  EXPECT_TRUE(winograd::computes(two_images(9, 8, 512, 16, {{3, 3}})));
  EXPECT_TRUE(winograd::computes(two_images(9, 8, 32, 32, {{3, 3}, {1, 1}, {2, 0}})));
  EXPECT_FALSE(winograd::computes(two_images(9, 8, 32, 32, {{3, 3}, {1, 1}, {3, 1}})));
  EXPECT_FALSE(winograd::computes(two_images(9, 8, 32, 32, {{3, 3}, {1, 1}, {1, 3}})));
  EXPECT_FALSE(winograd::computes(two_images(9, 8, 32, 32, {{3, 3}, {2, 1}, {1, 1}})));
  EXPECT_FALSE(winograd::computes(two_images(9, 8, 32, 32, {{3, 3}, {1, 1}, {1, 1}, {1, 2}})));
  EXPECT_FALSE(winograd::computes(two_images(9, 8, 32, 32, {{3, 5}, {1, 1}, {1, 1}})));
  EXPECT_FALSE(winograd::computes(two_images(9, 8, 40, 32)));
  EXPECT_FALSE(winograd::computes(two_images(9, 8, 32, 40)));
}

TEST(WinogradRules, IsGivenLayersOf32To256ChannelsWithFullTiles) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    bool here = product::fp32_is_fastest(dtype);
    auto given = [&](const product::ConvolutionShape& shape) {
      return winograd::is_faster(shape, dtype);
    };
    EXPECT_EQ(given(two_images(8, 8, 32, 256)), here);
    EXPECT_EQ(given(two_images(8, 8, 256, 32)), here);
    EXPECT_FALSE(given(two_images(8, 8, 16, 64)));
    EXPECT_FALSE(given(two_images(8, 8, 64, 16)));
    EXPECT_FALSE(given(two_images(8, 8, 272, 64)));
    EXPECT_FALSE(given(two_images(8, 8, 64, 272)));
    EXPECT_FALSE(given(two_images(8, 8, 40, 64)));
    // Tiles compute 4 x 4 pixels for 3 x 4, 4 for 2 and 16 for 9.
    EXPECT_EQ(given(two_images(3, 4, 64, 64)), here);
    EXPECT_FALSE(given(two_images(1, 2, 64, 64)));
    EXPECT_FALSE(given(two_images(3, 3, 64, 64)));
    EXPECT_EQ(given(two_images(7, 7, 64, 64)), here);
  }
}

}  // namespace
}  // namespace spire::testing
