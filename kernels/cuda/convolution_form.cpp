#include "kernels/cuda/convolution_form.h"

#include "engine/base/fail.h"

namespace spire {
namespace {

// Returns true if each output pixel depends on one input pixel alone.
bool is_product(const ConvolutionShape& s) {
  const auto& [kernel, stride, padding, dilation] = s.window;
  return kernel == Extent2d{1, 1} && stride == Extent2d{1, 1} && padding == Extent2d{0, 0} &&
         s.groups == 1;
}

std::vector<ConvolutionForm> weight_gradient_forms(const ConvolutionShape& s) {
  std::vector<ConvolutionForm> forms;
  if (is_product(s)) forms.push_back({.result = DType::f32, .fused = true, .product = true});
  forms.push_back({.result = s.dtype, .fused = true});
  // cuDNN compiles each engine that writes fp32 from 16 bits when its plan is made, for a second or
  // two, and on an H100 none of them was the fastest (docs/benchmarks.md).
  if (s.dtype != DType::f32)
    forms.push_back({.result = DType::f32, .fused = true, .last_resort = true});
  return forms;
}

}  // namespace

std::vector<ConvolutionForm> forms_of(const ConvolutionShape& s) {
  if (s.pass == ConvolutionPass::backward_weights) return weight_gradient_forms(s);
  // cuBLASLt takes a bias of the result's dtype only, and ours is fp32. Behind a relu, which both
  // libraries compute as max(x, 0) without NaN, one pass adds the bias, too.
  bool product_fuses = !s.relu && (!s.bias || s.dtype == DType::f32);
  ConvolutionForm product{.result = s.dtype, .fused = product_fuses, .product = true};
  // In order of preference: fused product, fused convolution, then those with a pass behind them.
  std::vector<ConvolutionForm> forms;
  if (is_product(s) && product_fuses) forms.push_back(product);
  if (!s.relu) forms.push_back({.result = s.dtype, .fused = true});
  if (is_product(s) && !product_fuses) forms.push_back(product);
  if (s.bias || s.relu) forms.push_back({.result = s.dtype, .fused = false});
  return forms;
}

std::string to_string(const ConvolutionForm& form) {
  return fmt::format("{}{}", to_string(form.result), form.fused ? "" : " unfused");
}

ProductShape product_shape(const ConvolutionShape& s, const ConvolutionForm& form) {
  int64_t pixels = s.y.elements() / s.y[3];
  ProductShape product{.operand_dtype = s.dtype, .result_dtype = form.result};
  switch (s.pass) {
    case ConvolutionPass::forward:  // y = x filter^T
      product.m = pixels, product.n = s.y[3], product.k = s.x[3];
      product.transpose_b = true;
      product.bias = form.fused && s.bias;
      break;
    case ConvolutionPass::backward_data:  // dx = dy filter
      product.m = pixels, product.n = s.x[3], product.k = s.y[3];
      break;
    case ConvolutionPass::backward_weights:  // dfilter = dy^T x
      product.m = s.y[3], product.n = s.x[3], product.k = pixels;
      product.transpose_a = true;
      break;
  }
  return product;
}

ProductPointers product_pointers(const ConvolutionShape& s, const ConvolutionForm& form,
                                 const ConvolutionPointers& p) {
  const void* a = s.pass == ConvolutionPass::forward ? p.x : p.y;
  const void* b = s.pass == ConvolutionPass::backward_weights ? p.x : p.filter;
  const void* bias = form.fused ? p.bias : nullptr;
  return {.a = a, .b = b, .bias = bias, .y = p.result, .workspace = p.workspace};
}

// The texts are keys of saved choices: another wording forgets them all.
std::string to_string(const ConvolutionShape& s) {
  constexpr std::string_view passes[] = {"forward", "backward data", "backward weights"};
  const auto& [kernel, stride, padding, dilation] = s.window;
  return fmt::format("{} {} {} to {}, kernel {}, stride {}, padding {}, dilation {}, groups {}{}{}",
                     passes[static_cast<size_t>(s.pass)], to_string(s.dtype), to_string(s.x),
                     to_string(s.y), to_string(kernel), to_short_string(stride),
                     to_short_string(padding), to_short_string(dilation), s.groups,
                     s.bias ? ", bias" : "", s.relu ? ", relu" : "");
}

std::string to_string(const ConvolutionKey& k) {
  return fmt::format("{}, convolution {}, {}, at most {} MiB", k.device, to_string(k.shape),
                     k.tensor_cores ? "tensor cores" : "no tensor cores", k.max_workspace >> 20);
}

}  // namespace spire
