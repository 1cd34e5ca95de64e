#include "kernels/nvidia/convolution_form.h"

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
  EXPECT_THAT(forms(shape_of(pass, DType::bf16, 3)), ElementsAre("fp32", "bf16"));
  EXPECT_THAT(forms(shape_of(pass, DType::f16, 1)), ElementsAre("fp32 product", "fp32", "fp16"));
}

TEST(ConvolutionForm, BiasAndReluMayBeFusedOrAPassOfTheirOwn) {
  ConvolutionShape shape = shape_of(ConvolutionPass::forward, DType::bf16, 3);
  EXPECT_THAT(forms(shape), ElementsAre("bf16"));
  shape.relu = true;
  EXPECT_THAT(forms(shape), ElementsAre("bf16", "bf16 unfused"));
  shape.window = {{1, 1}, {1, 1}, {0, 0}, {1, 1}};
  EXPECT_THAT(forms(shape), ElementsAre("bf16 product", "bf16", "bf16 unfused"));
  shape.bias = true;  // fp32, which no product in 16 bits adds
  EXPECT_THAT(forms(shape), ElementsAre("bf16", "bf16 unfused product", "bf16 unfused"));
  shape.dtype = DType::f32;
  EXPECT_THAT(forms(shape), ElementsAre("fp32 product", "fp32", "fp32 unfused"));
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

}  // namespace
}  // namespace spire
