#include "kernels/ops/attention/attention_rules.h"

#include <set>

#include <gtest/gtest.h>

namespace spire {
namespace {

constexpr CudnnOnDevice hopper{90, 91900};
constexpr size_t mib = size_t{1} << 20;

AttentionShape shape_of(AttentionPass pass) {
  return {.pass = pass,
          .batch = 16,
          .length = 1024,
          .heads = 12,
          .size = 64,
          .dtype = DType::bf16,
          .causal = true};
}

TEST(AttentionRules, CudnnIsAskedForShapesThatItMayCompute) {
  for (auto pass : {AttentionPass::forward, AttentionPass::backward}) {
    AttentionShape shape = shape_of(pass);
    EXPECT_TRUE(may_be_cudnns(shape, hopper));
    auto other = [&](auto change) {
      AttentionShape changed = shape;
      change(changed);
      return may_be_cudnns(changed, hopper);
    };
    EXPECT_TRUE(other([](auto& s) { s.dtype = DType::f16; }));
    EXPECT_TRUE(other([](auto& s) { s.causal = false; }));
    EXPECT_TRUE(other([](auto& s) { s.length = 77; }));
    EXPECT_TRUE(other([](auto& s) { s.size = 256; }));
    EXPECT_FALSE(other([](auto& s) { s.dtype = DType::f32; }));
    EXPECT_FALSE(other([](auto& s) { s.dropout = 0.1f; }));
    EXPECT_FALSE(other([](auto& s) { s.documents = true; }));
    EXPECT_FALSE(other([](auto& s) { s.size = 20; }));
    EXPECT_FALSE(other([](auto& s) { s.size = 264; }));
    EXPECT_FALSE(other([](auto& s) { s.length = 1; }));
    EXPECT_TRUE(other([](auto& s) { s.kv_heads = 12; }));
    EXPECT_EQ(other([](auto& s) { s.kv_heads = 4; }), pass == AttentionPass::forward);
  }
}

TEST(AttentionRules, CudnnIsAskedForABackwardOnlyWhereItIsDeterministic) {
  auto forward = shape_of(AttentionPass::forward), backward = shape_of(AttentionPass::backward);
  for (int compute : {80, 86, 89, 100, 120}) {
    EXPECT_TRUE(may_be_cudnns(forward, {compute, 91900}));
    EXPECT_FALSE(may_be_cudnns(backward, {compute, 91900}));
  }
  EXPECT_TRUE(may_be_cudnns(backward, {90, 91600}));
}

TEST(AttentionRules, OlderVersionsOfCudnnAreAskedForBackwardsInWholeTiles) {
  auto forward = shape_of(AttentionPass::forward), backward = shape_of(AttentionPass::backward);
  EXPECT_TRUE(may_be_cudnns(backward, {90, 91002}));
  for (auto* shape : {&forward, &backward}) EXPECT_FALSE(may_be_cudnns(*shape, {90, 91001}));
  forward.length = backward.length = 1000;
  EXPECT_TRUE(may_be_cudnns(forward, {90, 91500}));
  EXPECT_FALSE(may_be_cudnns(backward, {90, 91500}));
  EXPECT_TRUE(may_be_cudnns(backward, {90, 91600}));
}

TEST(AttentionRules, NativeKernelsUseTensorCoresForShapesThatFit) {
  for (auto pass : {AttentionPass::forward, AttentionPass::backward}) {
    AttentionShape shape = shape_of(pass);
    shape.dropout = 0.1f;
    for (int compiled_for : {80, 86, 89, 90, 100, 120})
      EXPECT_TRUE(on_tensor_cores(shape, compiled_for));
    EXPECT_FALSE(on_tensor_cores(shape, 75));
    auto other = [&](auto change) {
      AttentionShape changed = shape;
      change(changed);
      return on_tensor_cores(changed, 80);
    };
    EXPECT_TRUE(other([](auto& s) { s.dtype = DType::f16; }));
    EXPECT_TRUE(other([](auto& s) { s.size = 72; }));
    EXPECT_TRUE(other([](auto& s) { s.size = 128; }));
    EXPECT_FALSE(other([](auto& s) { s.dtype = DType::f32; }));
    EXPECT_FALSE(other([](auto& s) { s.size = 20; }));
    EXPECT_FALSE(other([](auto& s) { s.size = 136; }));
  }
}

TEST(AttentionShareWithin, IsTheWholeForward) {
  EXPECT_EQ(share_within(shape_of(AttentionPass::forward), 0), (AttentionShare{16, 12}));
}

// A backward that needs more workspace than there is runs in several turns.
TEST(AttentionShareWithin, IsWholeSamplesElseHeadsOfOne) {
  AttentionShape s = shape_of(AttentionPass::backward);  // 2 MiB and 4 KiB a head
  EXPECT_EQ(share_within(s, 512 * mib), (AttentionShare{16, 12}));
  EXPECT_EQ(share_within(s, 256 * mib), (AttentionShare{8, 12}));
  EXPECT_EQ(share_within(s, 25 * mib), (AttentionShare{1, 12}));
  EXPECT_EQ(share_within(s, 24 * mib), (AttentionShare{1, 6}));
  EXPECT_EQ(share_within(s, 3 * mib), (AttentionShare{1, 1}));
  EXPECT_EQ(share_within(s, 2 * mib), std::nullopt);
  EXPECT_EQ(share_within(s, 0), std::nullopt);
  s.batch = 7;
  EXPECT_EQ(share_within(s, 128 * mib), (AttentionShare{1, 12}));  // 5 would fit
  s.length = 1025;                                                 // as 1152
  EXPECT_EQ(share_within(s, 32 * mib), (AttentionShare{1, 12}));
  EXPECT_EQ(share_within(s, 30 * mib), (AttentionShare{1, 6}));
}

TEST(AttentionKey, HasAllThatAChoiceDependsOn) {
  AttentionKey key{"NVIDIA H100, compute 9.0, cuDNN 9.19.0", shape_of(AttentionPass::backward),
                   512 * mib};
  EXPECT_EQ(to_string(key),
            "NVIDIA H100, compute 9.0, cuDNN 9.19.0, attention backward bf16 (16, 1024, 2304), 12 "
            "heads, causal, at most 512 MiB");
  std::set<std::string> keys = {to_string(key)};
  size_t expected = 1;
  auto differs = [&](auto change) {
    AttentionKey other = key;
    change(other);
    keys.insert(to_string(other));
    EXPECT_EQ(keys.size(), ++expected) << to_string(other);
  };
  differs([](auto& k) { k.device = "NVIDIA H200, compute 9.0, cuDNN 9.19.0"; });
  differs([](auto& k) { k.shape.pass = AttentionPass::forward; });
  differs([](auto& k) { k.shape.batch = 8; });
  differs([](auto& k) { k.shape.length = 512; });
  differs([](auto& k) { k.shape.heads = 6, k.shape.size = 128; });
  differs([](auto& k) { k.shape.size = 128; });
  differs([](auto& k) { k.shape.dtype = DType::f16; });
  differs([](auto& k) { k.shape.causal = false; });
  differs([](auto& k) { k.shape.kv_heads = 4; });
  differs([](auto& k) { k.shape.documents = true; });
  differs([](auto& k) { k.max_workspace = 0; });
}

}  // namespace
}  // namespace spire
