#include "kernels/cuda/convolution_form.h"

#include <set>

#include <gmock/gmock.h>

namespace spire {
namespace {

using ::testing::ElementsAre;

ConvolutionShape shape_of(ConvolutionPass pass, DType dtype, int64_t kernel) {
  return {.pass = pass,
          .x = {2, 5, 4, 6},
          .y = {2, 5, 4, 3},
          .window = {{kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2}, {1, 1}},
          .dtype = dtype};
}

// Names the forms in which an engine is looked for, in their order.
std::vector<std::string> forms(const ConvolutionShape& shape) {
  std::vector<std::string> names;
  for (const ConvolutionForm& form : forms_of(shape))
    names.push_back(to_string(form) + (form.product ? " product" : ""));
  return names;
}

TEST(ConvolutionForm, AWeightGradientMayBeWrittenInFp32OrInTheTensorsDtype) {
  auto pass = ConvolutionPass::backward_weights;
  EXPECT_THAT(forms(shape_of(pass, DType::f32, 3)), ElementsAre("fp32"));
  EXPECT_THAT(forms(shape_of(pass, DType::bf16, 3)), ElementsAre("bf16", "fp32"));
  EXPECT_THAT(forms(shape_of(pass, DType::f16, 1)), ElementsAre("fp32 product", "fp16", "fp32"));
  EXPECT_TRUE(forms_of(shape_of(pass, DType::bf16, 3)).back().last_resort);
}

TEST(ConvolutionForm, ABiasMayBeFusedAndAReluIsAPassOfItsOwn) {
  ConvolutionShape shape = shape_of(ConvolutionPass::forward, DType::bf16, 3);
  EXPECT_THAT(forms(shape), ElementsAre("bf16"));
  shape.bias = true;
  EXPECT_THAT(forms(shape), ElementsAre("bf16", "bf16 unfused"));
  shape.window = {{1, 1}, {1, 1}, {0, 0}, {1, 1}};  // fp32, which no product in 16 bits adds
  EXPECT_THAT(forms(shape), ElementsAre("bf16", "bf16 unfused product", "bf16 unfused"));
  shape.dtype = DType::f32;
  EXPECT_THAT(forms(shape), ElementsAre("fp32 product", "fp32", "fp32 unfused"));
  shape.relu = true;  // libraries' relu makes NaN 0
  EXPECT_THAT(forms(shape), ElementsAre("fp32 unfused product", "fp32 unfused"));
  shape.bias = false;
  EXPECT_THAT(forms(shape), ElementsAre("fp32 unfused product", "fp32 unfused"));
}

TEST(ConvolutionForm, OnlyOneByOneWithoutStridePaddingOrGroupsIsAProduct) {
  auto is_product = [](auto change) {
    ConvolutionShape shape = shape_of(ConvolutionPass::backward_data, DType::bf16, 1);
    change(shape);
    return forms_of(shape).front().product;
  };
  EXPECT_TRUE(is_product([](auto&) {}));
  EXPECT_TRUE(is_product([](auto& s) { s.window.dilation = {2, 2}; }));  // of one pixel
  EXPECT_FALSE(is_product([](auto& s) { s.window.kernel = {1, 3}; }));
  EXPECT_FALSE(is_product([](auto& s) { s.window.stride = {2, 1}; }));
  EXPECT_FALSE(is_product([](auto& s) { s.window.padding = {0, 1}; }));
  EXPECT_FALSE(is_product([](auto& s) { s.groups = 3; }));
}

ConvolutionKey key() {
  return {.device = "NVIDIA H100, compute 9.0, cuDNN 9.19.0",
          .shape = {.x = {32, 28, 28, 64},
                    .y = {32, 28, 28, 128},
                    .window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}},
                    .dtype = DType::bf16,
                    .bias = true},
          .max_workspace = size_t{256} << 20};
}

TEST(ConvolutionKey, HasAllThatAChoiceDependsOn) {
  EXPECT_EQ(to_string(key()),
            "NVIDIA H100, compute 9.0, cuDNN 9.19.0, convolution forward bf16 (32, 28, 28, 64) to "
            "(32, 28, 28, 128), kernel 3x3, stride 1, padding 1, dilation 1, groups 1, bias, "
            "tensor cores, at most 256 MiB");
}

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
