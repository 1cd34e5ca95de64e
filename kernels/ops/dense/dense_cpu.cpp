// Fully connected layer on the CPU by products of tiles where these are faster
// (tiled_convolution.h), else by oneDNN's inner product, with fp32 sums. Leading axes of x and y
// are taken together as M rows.
#include <optional>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/tiled_convolution.h"
#include "kernels/kernel.h"
#include "kernels/ops/dense/dense.h"

namespace spire {

namespace {

using namespace onednn;
using Kind = Location::Kind;

// oneDNN's descriptors: x (M,K), y (M,N) and bias plain, w (N,K) plain and in a layout of its
// choice.
struct DenseDescs {
  Desc x, y, bias;
  Desc plain_w, any_w;
};

DenseDescs operands_of(const TensorSpec& x, const TensorSpec& y, bool bias) {
  int64_t features = x.shape.back(), outputs = y.shape.back();
  int64_t rows = x.shape.elements() / features;
  return {row_major({rows, features}, x.dtype), row_major({rows, outputs}, y.dtype),
          bias ? row_major({outputs}, DType::f32) : none(),
          row_major({outputs, features}, DType::f32), any_layout({outputs, features}, x.dtype)};
}

auto describe_dense(const dnnl::engine& engine, const DenseDescs& o) {
  return describe<dnnl::inner_product_forward>(
      engine, attributes(), dnnl::prop_kind::forward_training, o.x, o.any_w, o.bias, o.y);
}

// The layer as products of tiles, a convolution of images of one pixel, if these are faster than
// oneDNN.
std::optional<product::ConvolutionShape> tiled(product::Pass pass, const TensorSpec& x,
                                               const TensorSpec& y) {
  product::ConvolutionShape shape{.n = x.shape.elements() / x.shape.back(),
                                  .c = x.shape.back(),
                                  .o = y.shape.back(),
                                  .window = {}};
  if (!product::tiles_are_faster(pass, shape, x.dtype)) return {};
  return shape;
}

}  // namespace

template <>
Kernel make_cpu(const DenseOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  if (auto shape = tiled(product::Pass::forward, request.inputs[0], request.outputs[0]))
    return product::tiled_forward(*shape, {attributes.bias, attributes.relu}, request);
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    DenseDescs o = operands_of(request.inputs[0], request.outputs[0], attributes.bias);
    auto desc = describe_dense(kernel.engine(), o);
    std::vector<Binding> bindings{
        {DNNL_ARG_SRC, o.x, {Kind::input, 0}},
        kernel.read_weights(DNNL_ARG_WEIGHTS, 1, o.plain_w, desc.weights_desc()),
        {DNNL_ARG_DST, o.y, {Kind::output, 0}}};
    if (attributes.bias) bindings.push_back({DNNL_ARG_BIAS, o.bias, {Kind::input, 2}});
    kernel.append(desc, dnnl::inner_product_forward(desc), bindings);
    if (attributes.relu) kernel.append_relu(request.outputs[0]);
  });
}

template <>
Kernel make_cpu(const DenseBackwardDataOp& op, const KernelRequest& request) {
  if (auto shape = tiled(product::Pass::backward_data, request.outputs[0], request.inputs[0]))
    return product::tiled_backward_data(*shape, request);
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    DenseDescs o = operands_of(request.outputs[0], request.inputs[0], false);
    auto desc = describe_backward<dnnl::inner_product_backward_data>(
        kernel.engine(), describe_dense(kernel.engine(), o), o.x, o.any_w, o.y);
    kernel.append(desc, dnnl::inner_product_backward_data(desc),
                  {{DNNL_ARG_DIFF_DST, o.y, {Kind::input, 0}},
                   kernel.read_weights(DNNL_ARG_WEIGHTS, 1, o.plain_w, desc.weights_desc()),
                   {DNNL_ARG_DIFF_SRC, o.x, {Kind::output, 0}}});
  });
}

template <>
Kernel make_cpu(const DenseBackwardWeightsOp& op, const KernelRequest& request) {
  bool bias = op.bias();
  if (auto shape = tiled(product::Pass::backward_weights, request.inputs[0], request.inputs[1]))
    return product::tiled_backward_weights(*shape, bias, request);
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    DenseDescs o = operands_of(request.inputs[0], request.inputs[1], bias);
    // Written as plain fp32 at once: as fast here as oneDNN's own layout and a reorder.
    auto desc = describe_backward<dnnl::inner_product_backward_weights>(
        kernel.engine(), describe_dense(kernel.engine(), o), o.x, o.plain_w, o.bias, o.y);
    std::vector<Binding> bindings{{DNNL_ARG_SRC, o.x, {Kind::input, 0}},
                                  {DNNL_ARG_DIFF_DST, o.y, {Kind::input, 1}},
                                  {DNNL_ARG_DIFF_WEIGHTS, o.plain_w, {Kind::output, 0}}};
    if (bias) bindings.push_back({DNNL_ARG_DIFF_BIAS, o.bias, {Kind::output, 1}});
    kernel.append(desc, dnnl::inner_product_backward_weights(desc), bindings);
  });
}

}  // namespace spire
