// Fully connected layer by oneDNN's inner product.
#include "kernels/cpu/onednn.h"
#include "kernels/kernel.h"
#include "kernels/ops/dense/dense.h"

namespace spire::inline kernels {

namespace {

using namespace onednn;
using Kind = Place::Kind;

// oneDNN's words for the layer: x (M,K), y (M,N), bias as they lie, w (N,K) plain and as it likes.
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

auto describe_forward(const dnnl::engine& engine, const DenseDescs& o, bool relu) {
  return describe<dnnl::inner_product_forward>(
      engine, attributes(relu), dnnl::prop_kind::forward_training, o.x, o.any_w, o.bias, o.y);
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const DenseOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    DenseDescs o = operands_of(request.inputs[0], request.outputs[0], attributes.bias);
    auto desc = describe_forward(kernel.engine(), o, attributes.relu);
    std::vector<Binding> bindings{
        {DNNL_ARG_SRC, o.x, {Kind::input, 0}},
        kernel.read_weights(DNNL_ARG_WEIGHTS, 1, o.plain_w, desc.weights_desc()),
        {DNNL_ARG_DST, o.y, {Kind::output, 0}}};
    if (attributes.bias) bindings.push_back({DNNL_ARG_BIAS, o.bias, {Kind::input, 2}});
    kernel.append(desc, dnnl::inner_product_forward(desc), bindings);
  });
}

template <>
std::unique_ptr<Kernel> make_cpu(const DenseBackwardDataOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    DenseDescs o = operands_of(request.outputs[0], request.inputs[0], false);
    auto desc = describe_backward<dnnl::inner_product_backward_data>(
        kernel.engine(), describe_forward(kernel.engine(), o, false), o.x, o.any_w, o.y);
    kernel.append(desc, dnnl::inner_product_backward_data(desc),
                  {{DNNL_ARG_DIFF_DST, o.y, {Kind::input, 0}},
                   kernel.read_weights(DNNL_ARG_WEIGHTS, 1, o.plain_w, desc.weights_desc()),
                   {DNNL_ARG_DIFF_SRC, o.x, {Kind::output, 0}}});
  });
}

template <>
std::unique_ptr<Kernel> make_cpu(const DenseBackwardWeightsOp& op, const KernelRequest& request) {
  bool bias = op.bias();
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    DenseDescs o = operands_of(request.inputs[0], request.inputs[1], bias);
    // Straight into the plain gradient: as quick here as oneDNN's own layout and a reorder.
    auto desc = describe_backward<dnnl::inner_product_backward_weights>(
        kernel.engine(), describe_forward(kernel.engine(), o, false), o.x, o.plain_w, o.bias, o.y);
    std::vector<Binding> bindings{{DNNL_ARG_SRC, o.x, {Kind::input, 0}},
                                  {DNNL_ARG_DIFF_DST, o.y, {Kind::input, 1}},
                                  {DNNL_ARG_DIFF_WEIGHTS, o.plain_w, {Kind::output, 0}}};
    if (bias) bindings.push_back({DNNL_ARG_DIFF_BIAS, o.bias, {Kind::output, 1}});
    kernel.append(desc, dnnl::inner_product_backward_weights(desc), bindings);
  });
}

}  // namespace spire::inline kernels
