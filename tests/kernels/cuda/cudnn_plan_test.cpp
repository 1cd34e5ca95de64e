// Tests of the engines that cuDNN proposes for a described GPU, so that no GPU is needed.
#include "kernels/cuda/cudnn_plan.h"

#include <algorithm>
#include <array>
#include <set>

#include <gmock/gmock.h>
#include <tests/kernels/cuda/cuda_driver.h>
#include <tests/kernels/cuda/cudnn_rules.h>
#include <tests/kernels/cuda/described_gpus.h>

#include <spire/error.h>

#include "kernels/cuda/convolution_form.h"
#include "kernels/cuda/cudnn_convolution.h"
#include "kernels/cuda/engine_choice.h"

namespace spire {
namespace {

using testing::a100;
using testing::h100;
using testing::has_driver;

constexpr size_t workspace_limit = size_t{256} << 20;

ConvolutionShape shape_of(ConvolutionPass pass, DType dtype) {
  return {.pass = pass,
          .x = {32, 28, 28, 64},
          .y = {32, 28, 28, 128},
          .window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}},
          .dtype = dtype};
}

class CudnnEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cudnn = std::make_unique<Cudnn>(h100);
    } catch (const Error& error) {
      GTEST_SKIP() << "this cuDNN takes other descriptions of a GPU: " << error.what();
    }
  }
  CudnnConvolution convolution(ConvolutionPass pass, DType dtype) const {
    return CudnnConvolution(shape_of(pass, dtype), {dtype, true}, *cudnn);
  }
  std::vector<std::string> proposed(const CudnnConvolution& convolution,
                                    const CudnnRules& rules) const {
    std::vector<std::string> texts;
    for (auto& config : engine_configs(*cudnn, convolution.graph(), CUDNN_HEUR_MODE_A, rules))
      texts.push_back(engine_text(config));
    return texts;
  }

  std::unique_ptr<Cudnn> cudnn;
};

TEST_F(CudnnEngine, EachOneProposedIsFoundAgainByItsText) {
  for (auto pass : {ConvolutionPass::forward, ConvolutionPass::backward_data,
                    ConvolutionPass::backward_weights}) {
    auto c = convolution(pass, DType::bf16);
    CudnnRules rules{.max_workspace = workspace_limit};
    auto texts = proposed(c, rules);
    EXPECT_GT(texts.size(), 1u);
    for (const std::string& text : texts) {
      auto again = engine_config(*cudnn, c.graph(), text, rules);
      ASSERT_TRUE(again) << text;
      EXPECT_EQ(engine_text(*again), text);
    }
  }
}

TEST_F(CudnnEngine, TextsOfNoEngineAreRefused) {
  auto c = convolution(ConvolutionPass::backward_data, DType::bf16);
  CudnnRules rules{.max_workspace = workspace_limit};
  std::string good = proposed(c, rules).at(0);
  for (const std::string& text :
       {std::string(), std::string("engine"), std::string("engine x"), std::string("engine 1x"),
        std::string("motor 0"), std::string("engine 99999"), std::string("engine -1"),
        std::string("engine 99999999999999999999"), good + " 2", good + " 2=", good + " =1",
        good + " 2=x", good + " 99=1", good + " 2=99999"})
    EXPECT_FALSE(engine_config(*cudnn, c.graph(), text, rules)) << text;
}

TEST_F(CudnnEngine, TheTextOfAnEngineThatBreaksTheRulesIsRefused) {
  auto c = convolution(ConvolutionPass::forward, DType::f32);
  CudnnRules tf32{.tensor_cores = true, .max_workspace = workspace_limit};
  CudnnRules fp32{.tensor_cores = false, .max_workspace = workspace_limit};
  auto all = proposed(c, tf32), kept = proposed(c, fp32);
  int broken = 0;
  for (const std::string& text : all) {
    bool keeps = std::find(kept.begin(), kept.end(), text) != kept.end();
    EXPECT_EQ(engine_config(*cudnn, c.graph(), text, fp32).has_value(), keeps) << text;
    broken += keeps ? 0 : 1;
  }
  EXPECT_GT(broken, 0);
}

TEST_F(CudnnEngine, PlansAreOfDifferentEnginesWithinTheWorkspace) {
  auto c = convolution(ConvolutionPass::backward_weights, DType::bf16);
  auto plans = CudnnPlan::find(*cudnn, c.graph(), {.max_workspace = 1000}, 8);
  EXPECT_EQ(plans.size(), 8u);
  std::set<std::string> engines;
  for (const CudnnPlan& plan : plans) {
    EXPECT_LE(plan.workspace_bytes(), 1000u);
    engines.insert(plan.engine());
  }
  EXPECT_EQ(engines.size(), 8u);
}

// Engines of either heuristic.
size_t engines_of(const Cudnn& cudnn, const ConvolutionShape& shape, const ConvolutionForm& form) {
  CudnnConvolution convolution(shape, form, cudnn);
  std::set<std::string> texts;
  for (auto heuristic : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (auto& config :
         engine_configs(cudnn, convolution.graph(), heuristic, {.max_workspace = workspace_limit}))
      texts.insert(engine_text(config));
  return texts.size();
}

ConvolutionShape weight_gradient(int64_t channels, int64_t outputs, int64_t groups, DType dtype) {
  ConvolutionShape shape = shape_of(ConvolutionPass::backward_weights, dtype);
  shape.x = {2, 7, 9, channels};
  shape.y = {2, 7, 9, outputs};
  shape.groups = groups;
  return shape;
}

// The emulation has engines by this rule, and tests of ops take the error of gradients from it.
TEST_F(CudnnEngine, AWeightGradientIsWrittenInFp32WhereTheTestsExpectIt) {
  if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
  Cudnn ampere(a100);
  for (DType dtype : {DType::bf16, DType::f16}) {
    for (auto [channels, outputs, groups] : {std::array<int64_t, 3>{16, 32, 1},
                                             {6, 10, 1},
                                             {3, 64, 1},
                                             {16, 5, 1},
                                             {16, 32, 2},
                                             {16, 16, 16}}) {
      ConvolutionShape shape = weight_gradient(channels, outputs, groups, dtype);
      for (const Cudnn* gpu : {cudnn.get(), &ampere}) {
        EXPECT_EQ(engines_of(*gpu, shape, {DType::f32, true}) > 0,
                  testing::has_fp32_weight_gradient(shape))
            << to_string(shape);
        EXPECT_GT(engines_of(*gpu, shape, {dtype, true}), 0u) << to_string(shape);
      }
    }
  }
}

// ResNet-50's first 3x3 convolution: engines that split N H W among blocks write 16 bits.
TEST_F(CudnnEngine, WeightGradientsIn16BitsHaveManyEnginesAndInFp32FewOnAnH100) {
  if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
  ConvolutionShape shape = weight_gradient(64, 64, 1, DType::bf16);
  shape.x = shape.y = {256, 56, 56, 64};
  EXPECT_LE(engines_of(*cudnn, shape, {DType::f32, true}), 3u);
  EXPECT_GE(engines_of(*cudnn, shape, {DType::bf16, true}), max_engines);
}

TEST_F(CudnnEngine, ABiasIsFusedOrLeftOut) {
  if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
  ConvolutionShape shape = shape_of(ConvolutionPass::forward, DType::bf16);
  shape.bias = true;
  for (const ConvolutionForm& form : forms_of(shape))
    EXPECT_GT(engines_of(*cudnn, shape, form), 0u) << to_string(form);
}

TEST_F(CudnnEngine, ADescriptionWithGapsIsAnError) {
  EXPECT_THROW(Cudnn(R"({"deviceVer": 900})"), Error);
  EXPECT_THROW(Cudnn("H100"), Error);
}

}  // namespace
}  // namespace spire
