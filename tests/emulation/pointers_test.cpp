// Tests that the emulated cuBLASLt and cuDNN refuse pointers that those libraries may refuse.
#include <functional>

#include <gmock/gmock.h>

#include "engine/device/device_memory.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/product.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& run) {
  return message_if_any(Category::unexpected, run);
}

class EmulationPointers : public ::testing::Test {
 protected:
  std::byte* at(size_t offset) const { return memory_->as<std::byte>() + offset; }

 private:
  std::unique_ptr<DeviceMemory> memory_ = allocate_cuda_memory(0, 4096);
};

TEST_F(EmulationPointers, AProductsWorkspaceLiesAtItsAlignment) {
  CudaProduct product = std::move(CudaProduct::find({.m = 2, .n = 2, .k = 2}, nullptr, 1).at(0));
  auto run = [&](std::byte* y, std::byte* workspace) {
    return refusal(
        [&] { product.run({.a = at(0), .b = at(64), .y = y, .workspace = workspace}, nullptr); });
  };
  EXPECT_EQ(run(at(128), at(256)), "");
  EXPECT_THAT(run(at(128), at(256 + 128)), HasSubstr("cuBLASLt: the workspace must lie at a"));
  EXPECT_THAT(run(at(128), nullptr), HasSubstr("cuBLASLt: the workspace must lie at a"));
  EXPECT_THAT(run(at(128 + 16), at(256)), HasSubstr("cuBLASLt: tensors must lie at multiples"));
}

TEST_F(EmulationPointers, AConvolutionsWorkspaceLiesAtItsAlignment) {
  CudaConvolution convolution({.pass = ConvolutionPass::forward,
                               .x = {1, 2, 2, 1},
                               .y = {1, 2, 2, 1},
                               .window = {{1, 1}, {1, 1}, {0, 0}, {1, 1}}},
                              nullptr);
  auto run = [&](std::byte* filter, std::byte* workspace) {
    return refusal([&] {
      convolution.run({.x = at(0), .filter = filter, .result = at(128), .workspace = workspace},
                      nullptr);
    });
  };
  EXPECT_EQ(run(at(64), at(256)), "");
  EXPECT_THAT(run(at(64), at(256 + 64)), HasSubstr("cuDNN: the workspace must lie at a multiple"));
  EXPECT_THAT(run(at(64 + 32), at(256)), HasSubstr("cuDNN: tensors must lie at multiples of 64"));
}

}  // namespace
}  // namespace spire
