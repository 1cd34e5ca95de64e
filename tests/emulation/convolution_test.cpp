// Tests that every engine of every form computes the same convolution, as on a GPU any of them may
// be the fastest, which is taken.
#include <cmath>

#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "cuda_runtime.h"
#include "engine/device/device_memory.h"
#include "engine/device/stream.h"
#include "kernels/cuda/convolution_form.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/tuning.h"
#include "kernels/kernel.h"

namespace spire {
namespace {

constexpr DeviceId test_gpu{DeviceKind::cuda, 0};
constexpr auto forward = ConvolutionPass::forward;
constexpr auto backward_data = ConvolutionPass::backward_data;
constexpr auto backward_weights = ConvolutionPass::backward_weights;

ConvolutionShape shape_of(ConvolutionPass pass, DType dtype, int64_t channels, int64_t outputs,
                          int64_t kernel) {
  int64_t padding = kernel / 2;
  return {.pass = pass,
          .x = {2, 5, 4, channels},
          .y = {2, 5, 4, outputs},
          .window = {{kernel, kernel}, {1, 1}, {padding, padding}, {1, 1}},
          .dtype = dtype};
}

Buffer random_values(int64_t count, DType dtype, uint64_t seed) {
  Buffer bytes(static_cast<size_t>(count) * size_of(dtype));
  RandomStream stream(seed, Purpose::initialize);
  with_any_float_type(dtype, [&]<typename T>(T) {
    for (int64_t i = 0; i < count; ++i)
      bytes.as<T>()[i] = T(2 * stream.uniform(static_cast<uint64_t>(i)) - 1);
  });
  return bytes;
}

int64_t filter_size(const ConvolutionShape& s) {
  return s.y[3] * s.x[3] / s.groups * s.window.kernel.h * s.window.kernel.w;
}

int64_t result_size(const ConvolutionShape& s) {
  if (s.pass == backward_weights) return filter_size(s);
  return s.pass == forward ? s.y.elements() : s.x.elements();
}

// Tensors of a convolution, with the same random values each time.
struct Tensors {
  explicit Tensors(const ConvolutionShape& s)
      : x(random_values(s.x.elements(), s.dtype, 1)),
        y(random_values(s.y.elements(), s.dtype, 2)),
        filter(random_values(filter_size(s), s.dtype, 3)),
        bias(random_values(s.y[3], DType::f32, 4)),
        result(static_cast<size_t>(result_size(s)) * sizeof(float)) {
    pointers = {.result = result.data(), .workspace = workspace};
    if (s.pass != backward_data) pointers.x = x.data();
    if (s.pass != backward_weights) pointers.filter = filter.data();
    if (s.pass != forward) pointers.y = y.data();
    if (s.bias) pointers.bias = bias.as<float>();
  }

  Buffer x, y, filter, bias, result;
  alignas(workspace_alignment) char workspace[256];
  ConvolutionPointers pointers;
};

// A result of the engine of a given name; `replaced`: by another engine, as that one does not
// exist.
struct Computed {
  std::vector<float> values;
  DType dtype;
  bool replaced;
};

Computed compute(const ConvolutionShape& s, const std::string& engine) {
  Tuning::Options options;
  if (!engine.empty()) options.recorded.set(to_string(ConvolutionKey{"emulated", s}), engine);
  Tuning tuning(options);
  CudaLibraries libraries(test_gpu, {.tuning = &tuning});
  CudaConvolution convolution(s, &libraries);
  Tensors tensors(s);
  auto stream = make_stream(test_gpu);
  convolution.run(tensors.pointers, stream->native());
  stream->synchronize();
  Computed computed{{}, convolution.result_dtype(), !tuning.replaced().empty()};
  with_any_float_type(computed.dtype, [&](auto type) {
    auto* values = tensors.result.as<decltype(type)>();
    for (int64_t i = 0; i < result_size(s); ++i)
      computed.values.push_back(static_cast<float>(values[i]));
  });
  if (convolution.adds_bias_relu()) return computed;
  for (size_t i = 0; i < computed.values.size(); ++i) {  // as the caller does
    float& value = computed.values[i];
    if (s.bias) value += tensors.pointers.bias[i % static_cast<size_t>(s.y[3])];
    if (s.relu) value = std::max(value, 0.0f);
  }
  return computed;
}

std::vector<std::string> names_of(const ConvolutionShape& shape) {
  std::vector<std::string> names;
  for (const ConvolutionForm& form : forms_of(shape))
    for (const char* order : {"forwards", "backwards"})
      names.push_back(to_string(form) + (form.product ? " product " : " ") + order);
  return names;
}

// Returns the number of engines; each must compute what the favourite computes.
size_t engines_that_agree(const ConvolutionShape& shape) {
  Computed favourite = compute(shape, "");
  size_t engines = 0;
  for (const std::string& name : names_of(shape)) {
    Computed by = compute(shape, name);
    if (by.replaced) continue;
    ++engines;
    double unit = by.dtype == DType::bf16 || favourite.dtype == DType::bf16 ? 0x1p-6 : 0x1p-18;
    for (size_t i = 0; i < by.values.size(); ++i)
      EXPECT_NEAR(by.values[i], favourite.values[i], unit * (4 + std::abs(by.values[i])))
          << name << " " << to_string(shape) << " at " << i;
  }
  return engines;
}

TEST(EmulationConvolution, EveryEngineOfEveryFormComputesIt) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    size_t sixteen = dtype == DType::bf16 ? 2 : 0;
    for (auto pass : {forward, backward_data}) {
      EXPECT_EQ(engines_that_agree(shape_of(pass, dtype, 6, 4, 3)), 2u);
      EXPECT_EQ(engines_that_agree(shape_of(pass, dtype, 6, 4, 1)), 4u);
    }
    EXPECT_EQ(engines_that_agree(shape_of(backward_weights, dtype, 6, 4, 3)), 2 + sixteen);
    EXPECT_EQ(engines_that_agree(shape_of(backward_weights, dtype, 6, 4, 1)), 4 + sixteen);
  }
}

TEST(EmulationConvolution, EveryEngineComputesABiasAndLeavesAReluToItsCaller) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (bool bias : {false, true}) {
      for (int64_t kernel : {1, 3}) {
        ConvolutionShape shape = shape_of(forward, dtype, 6, 16, kernel);
        shape.bias = bias;
        size_t unfused = bias ? 2 : 0;
        EXPECT_EQ(engines_that_agree(shape), kernel == 1 ? 4 + unfused : 2 + unfused);
        shape.relu = true;
        EXPECT_EQ(engines_that_agree(shape), kernel == 1 ? 4u : 2u);
      }
    }
  }
}

TEST(EmulationConvolution, WeightGradientsHaveTheDtypeOfTheirTensorsUnlessTheyAreProducts) {
  ConvolutionShape odd = shape_of(backward_weights, DType::bf16, 3, 4, 3), grouped = odd;
  grouped.x = {2, 5, 4, 4};
  grouped.groups = 2;
  for (const ConvolutionShape& shape : {odd, grouped}) {
    EXPECT_EQ(engines_that_agree(shape), 2u);
    EXPECT_EQ(compute(shape, "").dtype, DType::bf16);
  }
  ConvolutionShape product = shape_of(backward_weights, DType::bf16, 3, 4, 1);
  EXPECT_EQ(engines_that_agree(product), 4u);
  EXPECT_EQ(compute(product, "").dtype, DType::f32);
  EXPECT_EQ(compute(shape_of(backward_weights, DType::bf16, 4, 4, 3), "").dtype, DType::bf16);
}

TEST(EmulationConvolution, ANameThatNamesNoEngineIsReplaced) {
  ConvolutionShape shape = shape_of(backward_weights, DType::bf16, 3, 4, 1);
  for (const char* name : {"forwards", "engine 46 1=0", "fp32", "fp32 ", "fp32 forwards",
                           "fp32 product", "fp32 product 130100 0", "fp16 forwards",
                           "bf16 product forwards", "bf16 unfused forwards"}) {
    Computed by = compute(shape, name);
    EXPECT_TRUE(by.replaced) << name;
    EXPECT_EQ(by.values, compute(shape, "").values) << name;
  }
}

}  // namespace
}  // namespace spire
