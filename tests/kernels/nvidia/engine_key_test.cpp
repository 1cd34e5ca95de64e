#include "kernels/nvidia/engine_key.h"

#include <set>

#include <gmock/gmock.h>

namespace spire {
namespace {

ConvolutionKey key() {
  return {.device = "NVIDIA H100, compute 9.0, cuDNN 9.19.0",
          .shape = {.x = {32, 28, 28, 64},
                    .y = {32, 28, 28, 128},
                    .window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}},
                    .dtype = DType::bf16,
                    .bias = true},
          .max_workspace = size_t{256} << 20};
}

TEST(ConvolutionKey, SaysAllThatAChoiceDependsOn) {
  EXPECT_EQ(to_string(key()),
            "NVIDIA H100, compute 9.0, cuDNN 9.19.0, convolution forward bf16 (32, 28, 28, 64) to "
            "(32, 28, 28, 128), kernel 3x3, stride 1, padding 1, dilation 1, groups 1, bias, "
            "tensor cores, at most 256 MiB");
}

// Two operations with one key would share an engine that was measured for only one of them.
TEST(ConvolutionKey, AnyDifferenceMakesAnotherKey) {
  std::set<std::string> keys = {to_string(key())};
  size_t expected = 1;
  auto differs = [&](auto change) {
    ConvolutionKey other = key();
    change(other);
    keys.insert(to_string(other));
    EXPECT_EQ(keys.size(), ++expected) << to_string(other);
  };
  differs([](auto& k) { k.device = "NVIDIA H200, compute 9.0, cuDNN 9.19.0"; });
  differs([](auto& k) { k.shape.pass = ConvolutionPass::backward_data; });
  differs([](auto& k) { k.shape.pass = ConvolutionPass::backward_weights; });
  differs([](auto& k) { k.shape.x = {16, 28, 28, 64}; });
  differs([](auto& k) { k.shape.y = {32, 28, 28, 64}; });
  differs([](auto& k) { k.shape.window.kernel = {3, 5}; });
  differs([](auto& k) { k.shape.window.stride = {2, 1}; });
  differs([](auto& k) { k.shape.window.padding = {1, 0}; });
  differs([](auto& k) { k.shape.window.dilation = {2, 2}; });
  differs([](auto& k) { k.shape.groups = 2; });
  differs([](auto& k) { k.shape.dtype = DType::f16; });
  differs([](auto& k) { k.shape.bias = false; });
  differs([](auto& k) { k.shape.relu = true; });
  differs([](auto& k) { k.tensor_cores = false; });
  differs([](auto& k) { k.max_workspace = 0; });
}

}  // namespace
}  // namespace spire
