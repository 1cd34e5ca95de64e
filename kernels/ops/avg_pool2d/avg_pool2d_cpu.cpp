// Average pooling by oneDNN.
#include "kernels/cpu/onednn.h"
#include "kernels/kernel.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"

namespace spire::inline kernels {

namespace {

using namespace onednn;
using Kind = Place::Kind;

struct PoolingDescs {
  Desc x, y;
  dnnl::algorithm algorithm;
  Dims strides, kernel, dilation, padding;
};

PoolingDescs operands_of(const AvgPool2dAttributes& a, const TensorSpec& x, const TensorSpec& y) {
  return {nhwc(x),
          nhwc(y),
          a.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                              : dnnl::algorithm::pooling_avg_exclude_padding,
          {a.stride.h, a.stride.w},
          {a.kernel.h, a.kernel.w},
          {0, 0},  // no holes
          {a.padding.h, a.padding.w}};
}

auto describe_forward(const dnnl::engine& engine, const PoolingDescs& o) {
  return describe<PoolingForward>(engine, attributes(false), dnnl::prop_kind::forward_training,
                                  o.algorithm, o.x, o.y, o.strides, o.kernel, o.dilation, o.padding,
                                  o.padding);
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AvgPool2dOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    PoolingDescs o = operands_of(op.attributes(), request.inputs[0], request.outputs[0]);
    auto desc = describe_forward(kernel.engine(), o);
    kernel.append(desc, PoolingForward(desc),
                  {{DNNL_ARG_SRC, o.x, {Kind::input, 0}}, {DNNL_ARG_DST, o.y, {Kind::output, 0}}});
  });
}

template <>
std::unique_ptr<Kernel> make_cpu(const AvgPool2dBackwardOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    PoolingDescs o = operands_of(op.attributes(), request.outputs[0], request.inputs[0]);
    auto desc = describe_backward<PoolingBackward>(
        kernel.engine(), describe_forward(kernel.engine(), o), o.algorithm, o.x, o.y, o.strides,
        o.kernel, o.dilation, o.padding, o.padding);
    kernel.append(
        desc, PoolingBackward(desc),
        {{DNNL_ARG_DIFF_DST, o.y, {Kind::input, 0}}, {DNNL_ARG_DIFF_SRC, o.x, {Kind::output, 0}}});
  });
}

}  // namespace spire::inline kernels
