// Tests of cuDNN's attention on described GPUs. Making a plan compiles its engine, which needs a
// CUDA driver, if only the toolkit's stub; so plans are made on machines with a GPU.
#include "kernels/cuda/cudnn_attention.h"

#include <set>

#include <gmock/gmock.h>
#include <tests/kernels/cuda/cuda_driver.h>
#include <tests/kernels/cuda/described_gpus.h>

#include <spire/error.h>

#include "kernels/cuda/cudnn_plan.h"

namespace spire {
namespace {

using testing::a100;
using testing::h100;
using testing::has_driver;

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

constexpr size_t most = size_t{512} << 20;

class CudnnAttentionGraph : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      hopper = std::make_unique<Cudnn>(h100);
      ampere = std::make_unique<Cudnn>(a100);
    } catch (const Error& error) {
      GTEST_SKIP() << "this cuDNN takes other descriptions of a GPU: " << error.what();
    }
  }
  // Engines of the texts that both heuristics propose.
  static std::vector<std::string> proposed(const Cudnn& cudnn, const AttentionShape& shape) {
    CudnnAttention attention(shape, share_within(shape, most).value(), cudnn);
    std::vector<std::string> texts;
    for (auto heuristic : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      for (auto& config :
           engine_configs(cudnn, attention.graph(), heuristic, {.max_workspace = most}))
        texts.push_back(engine_text(config));
    return texts;
  }

  std::unique_ptr<Cudnn> hopper, ampere;
};

TEST_F(CudnnAttentionGraph, IsTakenInAllItsForms) {
  for (auto pass : {AttentionPass::forward, AttentionPass::backward})
    for (auto dtype : {DType::bf16, DType::f16})
      for (bool causal : {false, true}) {
        auto shape = shape_of(pass, dtype, causal);
        for (AttentionShare share : {AttentionShare{16, 12}, {4, 12}, {1, 3}})
          EXPECT_NO_THROW(CudnnAttention(shape, share, *hopper));
      }
}

TEST_F(CudnnAttentionGraph, HasEnginesOnAnH100) {
  if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
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

TEST_F(CudnnAttentionGraph, HasForwardEnginesForHeadsThatShareKeys) {
  auto shape = shape_of(AttentionPass::forward, DType::bf16, true);
  for (int64_t kv : {1, 3, 4}) {
    shape.kv_heads = kv;
    EXPECT_NO_THROW(CudnnAttention(shape, {16, 12}, *hopper)) << kv;
    if (has_driver()) {
      EXPECT_FALSE(proposed(*hopper, shape).empty()) << kv;
    }
  }
}

TEST_F(CudnnAttentionGraph, HasForwardEnginesOnAnA100) {
  if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
  for (bool causal : {false, true})
    EXPECT_FALSE(proposed(*ampere, shape_of(AttentionPass::forward, DType::bf16, causal)).empty());
}

TEST_F(CudnnAttentionGraph, EachOneProposedIsFoundAgainByItsText) {
  if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
  for (auto pass : {AttentionPass::forward, AttentionPass::backward}) {
    auto shape = shape_of(pass, DType::bf16, true);
    CudnnAttention attention(shape, {16, 12}, *hopper);
    for (const std::string& text : proposed(*hopper, shape)) {
      auto again = engine_config(*hopper, attention.graph(), text, {.max_workspace = most});
      ASSERT_TRUE(again) << text;
      EXPECT_EQ(engine_text(*again), text);
    }
  }
}

TEST_F(CudnnAttentionGraph, HeadsOfOddSizesHaveNoEngine) {
  if (!has_driver()) GTEST_SKIP() << "no CUDA driver, nor the toolkit's stub of one";
  auto shape = shape_of(AttentionPass::forward, DType::bf16, true);
  shape.size = 20;
  EXPECT_TRUE(proposed(*hopper, shape).empty());
}

// Offsets, in bytes from the beginning of each whole tensor: (16, 1024, 2304), (16, 1024, 768) and
// (16, 12, 1024).
TEST_F(CudnnAttentionGraph, SharesLieAmongTheWholeTensors) {
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
