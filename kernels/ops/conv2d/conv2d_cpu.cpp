// Convolution on the CPU by oneDNN: direct algorithms with fp32 sums. x, y and their gradients stay
// (N,H,W,C). Weights are packed in the layout that oneDNN prefers; their gradient comes in such a
// layout and is reordered to plain fp32. Convolutions without groups are computed by Winograd's
// algorithm (winograd.h) or as products of tiles (tiled_convolution.h) where these are faster.
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/tiled_convolution.h"
#include "kernels/cpu/winograd.h"
#include "kernels/kernel.h"
#include "kernels/ops/conv2d/conv2d.h"

namespace spire {

namespace {

using namespace onednn;
using Kind = Location::Kind;

// oneDNN's descriptors: x, y and bias in their own layouts, w plain and in a layout of its choice.
struct ConvolutionDescs {
  Desc x, y, bias;
  Desc plain_w, any_w;
  Dims w_dims, strides, dilation, padding;
};

ConvolutionDescs operands_of(const Conv2dAttributes& g, const TensorSpec& x, const Shape& w,
                             const TensorSpec& y) {
  ConvolutionDescs o;
  // Plain bytes of (O, C/groups, ..) and (groups, O/groups, C/groups, ..) are the same.
  o.w_dims = {w[0], w[1], w[2], w[3]};
  if (g.groups > 1) o.w_dims = {g.groups, w[0] / g.groups, w[1], w[2], w[3]};
  o.x = nhwc(x);
  o.y = nhwc(y);
  o.bias = g.bias ? row_major({w[0]}, DType::f32) : none();
  o.plain_w = row_major(o.w_dims, DType::f32);
  o.any_w = any_layout(o.w_dims, x.dtype);
  o.strides = {g.stride.h, g.stride.w};
  o.dilation = {g.dilation.h - 1, g.dilation.w - 1};  // oneDNN counts the holes
  o.padding = {g.padding.h, g.padding.w};
  return o;
}

auto describe_convolution(const dnnl::engine& engine, const ConvolutionDescs& o) {
  return describe<dnnl::convolution_forward>(
      engine, attributes(), dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
      o.x, o.any_w, o.bias, o.y, o.strides, o.dilation, o.padding, o.padding);
}

product::ConvolutionShape shape_of(const Conv2dAttributes& g, const Shape& x, const Shape& w,
                                   const Shape& y) {
  return {x[0], x[1], x[2], x[3],
          y[1], y[2], y[3], {{w[2], w[3]}, g.stride, g.padding, g.dilation}};
}

// The kernel that computes a convolution.
enum class Algorithm { onednn, tiles, winograd };

Algorithm algorithm_of(product::Pass pass, const Conv2dAttributes& g,
                       const product::ConvolutionShape& shape, DType dtype) {
  if (g.groups > 1) return Algorithm::onednn;
  if (winograd::is_faster(shape, dtype)) return Algorithm::winograd;
  return product::tiles_are_faster(pass, shape, dtype) ? Algorithm::tiles : Algorithm::onednn;
}

}  // namespace

template <>
Kernel make_cpu(const Conv2dOp& op, const KernelRequest& request) {
  const Conv2dAttributes& g = op.attributes();
  auto shape =
      shape_of(g, request.inputs[0].shape, request.inputs[1].shape, request.outputs[0].shape);
  Algorithm algorithm = algorithm_of(product::Pass::forward, g, shape, request.inputs[0].dtype);
  if (algorithm == Algorithm::winograd) return winograd::forward(shape, {g.bias, g.relu}, request);
  if (algorithm == Algorithm::tiles)
    return product::tiled_forward(shape, {g.bias, g.relu}, request);
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    ConvolutionDescs o = operands_of(op.attributes(), request.inputs[0], request.inputs[1].shape,
                                     request.outputs[0]);
    auto desc = describe_convolution(kernel.engine(), o);
    std::vector<Binding> bindings{
        {DNNL_ARG_SRC, o.x, {Kind::input, 0}},
        kernel.read_weights(DNNL_ARG_WEIGHTS, 1, o.plain_w, desc.weights_desc()),
        {DNNL_ARG_DST, o.y, {Kind::output, 0}}};
    if (op.attributes().bias) bindings.push_back({DNNL_ARG_BIAS, o.bias, {Kind::input, 2}});
    kernel.append(desc, dnnl::convolution_forward(desc), bindings);
    if (g.relu) kernel.append_relu(request.outputs[0]);
  });
}

template <>
Kernel make_cpu(const Conv2dBackwardDataOp& op, const KernelRequest& request) {
  const Conv2dAttributes& g = op.attributes();
  auto shape =
      shape_of(g, request.outputs[0].shape, request.inputs[1].shape, request.inputs[0].shape);
  Algorithm algorithm =
      algorithm_of(product::Pass::backward_data, g, shape, request.inputs[0].dtype);
  if (algorithm == Algorithm::winograd) return winograd::backward_data(shape, request);
  if (algorithm == Algorithm::tiles) return product::tiled_backward_data(shape, request);
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    ConvolutionDescs o = operands_of(op.attributes(), request.outputs[0], request.inputs[1].shape,
                                     request.inputs[0]);
    auto desc = describe_backward<dnnl::convolution_backward_data>(
        kernel.engine(), describe_convolution(kernel.engine(), o),
        dnnl::algorithm::convolution_direct, o.x, o.any_w, o.y, o.strides, o.dilation, o.padding,
        o.padding);
    kernel.append(desc, dnnl::convolution_backward_data(desc),
                  {{DNNL_ARG_DIFF_DST, o.y, {Kind::input, 0}},
                   kernel.read_weights(DNNL_ARG_WEIGHTS, 1, o.plain_w, desc.weights_desc()),
                   {DNNL_ARG_DIFF_SRC, o.x, {Kind::output, 0}}});
  });
}

template <>
Kernel make_cpu(const Conv2dBackwardWeightsOp& op, const KernelRequest& request) {
  const Conv2dAttributes& g = op.attributes();
  auto shape =
      shape_of(g, request.inputs[0].shape, request.outputs[0].shape, request.inputs[1].shape);
  Algorithm algorithm =
      algorithm_of(product::Pass::backward_weights, g, shape, request.inputs[0].dtype);
  if (algorithm == Algorithm::winograd) return winograd::backward_weights(shape, g.bias, request);
  if (algorithm == Algorithm::tiles) return product::tiled_backward_weights(shape, g.bias, request);
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    ConvolutionDescs o = operands_of(op.attributes(), request.inputs[0], request.outputs[0].shape,
                                     request.inputs[1]);
    // The gradient is fp32 with bf16 activations, too.
    Desc any_dw = any_layout(o.w_dims, DType::f32);
    auto desc = describe_backward<dnnl::convolution_backward_weights>(
        kernel.engine(), describe_convolution(kernel.engine(), o),
        dnnl::algorithm::convolution_direct, o.x, any_dw, o.bias, o.y, o.strides, o.dilation,
        o.padding, o.padding);
    Binding dw = kernel.write_result(DNNL_ARG_DIFF_WEIGHTS, 0, o.plain_w, desc.diff_weights_desc());
    std::vector<Binding> bindings{
        {DNNL_ARG_SRC, o.x, {Kind::input, 0}}, {DNNL_ARG_DIFF_DST, o.y, {Kind::input, 1}}, dw};
    if (op.attributes().bias) bindings.push_back({DNNL_ARG_DIFF_BIAS, o.bias, {Kind::output, 1}});
    kernel.append(desc, dnnl::convolution_backward_weights(desc), bindings);
    kernel.deliver(dw, 0, o.plain_w);
  });
}

// Its kernel is that of conv2d's data gradient: the dy of that is our x, its dx our y.
template <>
Kernel make_cpu(const ConvTranspose2dOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  Conv2dBackwardDataOp same(attributes.convolution(), request.outputs[0]);
  return make_cpu(same, request);
}

}  // namespace spire
