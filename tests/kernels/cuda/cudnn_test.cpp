// Tests of cuDNN's engines for convolutions and attention on described GPUs, so that no GPU is
// needed.
#include <algorithm>
#include <array>
#include <set>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <tests/kernels/cuda/cudnn_rules.h>
#include <tests/kernels/cuda/described_gpus.h>

#include <spire/error.h>

#include "kernels/cuda/convolution_form.h"
#include "kernels/cuda/cudnn_attention.h"
#include "kernels/cuda/cudnn_convolution.h"
#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/engine_choice.h"

namespace spire {
namespace {

constexpr size_t workspace_limit = size_t{256} << 20, most = size_t{512} << 20;

ConvolutionShape shape_of(ConvolutionPass pass, DType dtype) {
  return {.pass = pass,
          .x = {32, 28, 28, 64},
          .y = {32, 28, 28, 128},
          .window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}},
          .dtype = dtype};
}

// GPT-2's.
AttentionShape shape_of(AttentionPass pass, DType dtype, bool causal) {
  return {.pass = pass,
          .batch = 16,
          .length = 1024,
          .heads = 12,
          .size = 64,
          .dtype = dtype,
          .causal = causal};
}

// Loads the driver, or the toolkit's stub of it. Without one, cuDNN proposes no engine that it
// compiles at run time, such as all fusing ones.
bool has_driver() {
  return dlopen("libcuda.so.1", RTLD_NOW) || dlopen(SPIRE_CUDA_DRIVER_STUB, RTLD_NOW);
}

class CudnnGraphTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      hopper = std::make_unique<Cudnn>(testing::h100);
      ampere = std::make_unique<Cudnn>(testing::a100);
    } catch (const Error& error) {
      GTEST_SKIP() << "this cuDNN takes other descriptions of a GPU: " << error.what();
    }
  }
  CudnnConvolution convolution(ConvolutionPass pass, DType dtype) const {
    return CudnnConvolution(shape_of(pass, dtype), {dtype, true}, *hopper);
  }

  // Texts of the engines that the heuristics propose.
  using Heuristics = std::vector<cudnnBackendHeurMode_t>;
  static std::vector<std::string> engines(const Cudnn& cudnn, const CudnnDescriptor& graph,
                                          const CudnnRules& rules,
                                          const Heuristics& heuristics = {
                                              CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::vector<std::string> texts;
    for (auto heuristic : heuristics)
      for (auto& config : engine_configs(cudnn, graph, heuristic, rules))
        texts.push_back(engine_text(config));
    return texts;
  }
  static std::vector<std::string> proposed(const Cudnn& cudnn, const AttentionShape& shape) {
    CudnnAttention attention(shape, share_within(shape, most).value(), cudnn);
    return engines(cudnn, attention.graph(), {.max_workspace = most});
  }
  static size_t engines_of(const Cudnn& cudnn, const ConvolutionShape& shape,
                           const ConvolutionForm& form) {
    CudnnConvolution convolution(shape, form, cudnn);
    auto texts = engines(cudnn, convolution.graph(), {.max_workspace = workspace_limit});
    return std::set(texts.begin(), texts.end()).size();
  }

  void expect_found_again(const CudnnDescriptor& graph, const std::vector<std::string>& texts,
                          const CudnnRules& rules) const {
    for (const std::string& text : texts) {
      auto again = engine_config(*hopper, graph, text, rules);
      ASSERT_TRUE(again) << text;
      EXPECT_EQ(engine_text(*again), text);
    }
  }

  std::unique_ptr<Cudnn> hopper, ampere;
};

// Of graphs whose engines compile code at run time.
class CompiledEngineTest : public CudnnGraphTest {
 protected:
  void SetUp() override {
    CudnnGraphTest::SetUp();
    if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
  }
};

TEST_F(CudnnGraphTest, EachEngineProposedForAConvolutionIsFoundAgainByItsText) {
  for (auto pass : {ConvolutionPass::forward, ConvolutionPass::backward_data,
                    ConvolutionPass::backward_weights}) {
    auto c = convolution(pass, DType::bf16);
    CudnnRules rules{.max_workspace = workspace_limit};
    auto texts = engines(*hopper, c.graph(), rules, {CUDNN_HEUR_MODE_A});
    EXPECT_GT(texts.size(), 1u);
    expect_found_again(c.graph(), texts, rules);
  }
}

TEST_F(CudnnGraphTest, TextsOfNoEngineAreRefused) {
  auto c = convolution(ConvolutionPass::backward_data, DType::bf16);
  CudnnRules rules{.max_workspace = workspace_limit};
  std::string good = engines(*hopper, c.graph(), rules, {CUDNN_HEUR_MODE_A}).at(0);
  for (const std::string& text :
       {std::string(), std::string("engine"), std::string("engine x"), std::string("engine 1x"),
        std::string("motor 0"), std::string("engine 99999"), std::string("engine -1"),
        std::string("engine 99999999999999999999"), good + " 2", good + " 2=", good + " =1",
        good + " 2=x", good + " 99=1", good + " 2=99999"})
    EXPECT_FALSE(engine_config(*hopper, c.graph(), text, rules)) << text;
}

TEST_F(CudnnGraphTest, TheTextOfAnEngineThatBreaksTheRulesIsRefused) {
  auto c = convolution(ConvolutionPass::forward, DType::f32);
  CudnnRules tf32{.tensor_cores = true, .max_workspace = workspace_limit};
  CudnnRules fp32{.tensor_cores = false, .max_workspace = workspace_limit};
  auto all = engines(*hopper, c.graph(), tf32, {CUDNN_HEUR_MODE_A});
  auto kept = engines(*hopper, c.graph(), fp32, {CUDNN_HEUR_MODE_A});
  int broken = 0;
  for (const std::string& text : all) {
    bool keeps = std::find(kept.begin(), kept.end(), text) != kept.end();
    EXPECT_EQ(engine_config(*hopper, c.graph(), text, fp32).has_value(), keeps) << text;
    broken += keeps ? 0 : 1;
  }
  EXPECT_GT(broken, 0);
}

TEST_F(CudnnGraphTest, PlansAreOfDifferentEnginesWithinTheWorkspace) {
  auto c = convolution(ConvolutionPass::backward_weights, DType::bf16);
  auto plans = CudnnPlan::find(*hopper, c.graph(), {.max_workspace = 1000}, 8);
  EXPECT_EQ(plans.size(), 8u);
  std::set<std::string> engines;
  for (const CudnnPlan& plan : plans) {
    EXPECT_LE(plan.workspace_bytes(), 1000u);
    engines.insert(plan.engine());
  }
  EXPECT_EQ(engines.size(), 8u);
}

ConvolutionShape weight_gradient(int64_t channels, int64_t outputs, int64_t groups, DType dtype) {
  ConvolutionShape shape = shape_of(ConvolutionPass::backward_weights, dtype);
  shape.x = {2, 7, 9, channels};
  shape.y = {2, 7, 9, outputs};
  shape.groups = groups;
  return shape;
}

// The emulation has engines by this rule, and tests of ops take the error of gradients from it.
TEST_F(CompiledEngineTest, AWeightGradientIsWrittenInFp32WhereTheTestsExpectIt) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    for (auto [channels, outputs, groups] : {std::array<int64_t, 3>{16, 32, 1},
                                             {6, 10, 1},
                                             {3, 64, 1},
                                             {16, 5, 1},
                                             {16, 32, 2},
                                             {16, 16, 16}}) {
      ConvolutionShape shape = weight_gradient(channels, outputs, groups, dtype);
      for (const Cudnn* gpu : {hopper.get(), ampere.get()}) {
        EXPECT_EQ(engines_of(*gpu, shape, {DType::f32, true}) > 0,
                  testing::has_fp32_weight_gradient(shape))
            << to_string(shape);
        EXPECT_GT(engines_of(*gpu, shape, {dtype, true}), 0u) << to_string(shape);
      }
    }
  }
}

// ResNet-50's first 3x3 convolution: engines that split N H W among blocks write 16 bits.
TEST_F(CompiledEngineTest, WeightGradientsIn16BitsHaveManyEnginesAndInFp32FewOnAnH100) {
  ConvolutionShape shape = weight_gradient(64, 64, 1, DType::bf16);
  shape.x = shape.y = {256, 56, 56, 64};
  EXPECT_LE(engines_of(*hopper, shape, {DType::f32, true}), 3u);
  EXPECT_GE(engines_of(*hopper, shape, {DType::bf16, true}), max_engines);
}

TEST_F(CompiledEngineTest, ABiasIsFusedOrLeftOut) {
  ConvolutionShape shape = shape_of(ConvolutionPass::forward, DType::bf16);
  shape.bias = true;
  for (const ConvolutionForm& form : forms_of(shape))
    EXPECT_GT(engines_of(*hopper, shape, form), 0u) << to_string(form);
}

TEST_F(CudnnGraphTest, ADescriptionWithGapsIsAnError) {
  EXPECT_THROW(Cudnn(R"({"deviceVer": 900})"), Error);
  EXPECT_THROW(Cudnn("H100"), Error);
}

TEST_F(CudnnGraphTest, AttentionIsTakenInAllItsForms) {
  for (auto pass : {AttentionPass::forward, AttentionPass::backward})
    for (auto dtype : {DType::bf16, DType::f16})
      for (bool causal : {false, true}) {
        auto shape = shape_of(pass, dtype, causal);
        for (AttentionShare share : {AttentionShare{16, 12}, {4, 12}, {1, 3}})
          EXPECT_NO_THROW(CudnnAttention(shape, share, *hopper));
      }
}

TEST_F(CompiledEngineTest, AttentionHasThemOnAnH100) {
  for (auto pass : {AttentionPass::forward, AttentionPass::backward})
    for (auto dtype : {DType::bf16, DType::f16})
      for (bool causal : {false, true}) {
        auto shape = shape_of(pass, dtype, causal);
        EXPECT_FALSE(proposed(*hopper, shape).empty());
        for (auto [length, size] : {std::pair{77, 64}, {2, 8}, {130, 72}, {1024, 128}}) {
          shape.length = length;
          shape.size = size;
          EXPECT_FALSE(proposed(*hopper, shape).empty()) << length << " x " << size;
        }
      }
}

TEST_F(CudnnGraphTest, AttentionHasForwardEnginesForHeadsThatShareKeys) {
  auto shape = shape_of(AttentionPass::forward, DType::bf16, true);
  for (int64_t kv : {1, 3, 4}) {
    shape.kv_heads = kv;
    EXPECT_NO_THROW(CudnnAttention(shape, {16, 12}, *hopper)) << kv;
    if (has_driver()) {
      EXPECT_FALSE(proposed(*hopper, shape).empty()) << kv;
    }
  }
}

TEST_F(CompiledEngineTest, AttentionHasForwardOnesOnAnA100) {
  for (bool causal : {false, true})
    EXPECT_FALSE(proposed(*ampere, shape_of(AttentionPass::forward, DType::bf16, causal)).empty());
}

TEST_F(CompiledEngineTest, EachOneProposedForAttentionIsFoundAgainByItsText) {
  for (auto pass : {AttentionPass::forward, AttentionPass::backward}) {
    auto shape = shape_of(pass, DType::bf16, true);
    CudnnAttention attention(shape, {16, 12}, *hopper);
    expect_found_again(attention.graph(), proposed(*hopper, shape), {.max_workspace = most});
  }
}

TEST_F(CompiledEngineTest, HeadsOfOddSizesHaveNone) {
  auto shape = shape_of(AttentionPass::forward, DType::bf16, true);
  shape.size = 20;
  EXPECT_TRUE(proposed(*hopper, shape).empty());
}

// Offsets, in bytes from the beginning of each whole tensor: (16, 1024, 2304), (16, 1024, 768) and
// (16, 12, 1024).
TEST_F(CudnnGraphTest, SharesOfAttentionLieAmongTheWholeTensors) {
  auto shape = shape_of(AttentionPass::backward, DType::bf16, true);
  CudnnAttention attention(shape, {2, 3}, *hopper);
  EXPECT_EQ(attention.shares(), 8 * 4);
  EXPECT_EQ(attention.delta_bytes(), 2u * 3 * 1024 * 4);
  std::vector<char> memory(6);
  AttentionPointers whole{&memory[0], &memory[1], &memory[2], &memory[3], &memory[4], &memory[5]};
  auto tensors = attention.tensors(whole, 4 * 5 + 2);  // from sample 10 and head 6 on
  ASSERT_EQ(tensors.count, 13u);
  std::set<int64_t> ids(tensors.ids.begin(), tensors.ids.end());
  EXPECT_EQ(ids.size(), 13u);
  int64_t packed = (10 * 1024 * 2304 + 6 * 64) * 2, plain = (10 * 1024 * 768 + 6 * 64) * 2;
  std::multiset<int64_t> want = {packed,
                                 packed + 768 * 2,
                                 packed + 2 * 768 * 2,
                                 1 + plain,
                                 2 + (10 * 12 + 6) * 1024 * 4,
                                 3 + plain,
                                 4 + packed,
                                 4 + packed + 768 * 2,
                                 4 + packed + 2 * 768 * 2,
                                 5};
  std::multiset<int64_t> got;
  for (void* at : tensors.pointers) got.insert(static_cast<char*>(at) - memory.data());
  for (int64_t offset : want) EXPECT_EQ(got.count(offset), 1u) << offset;
}

}  // namespace
}  // namespace spire
