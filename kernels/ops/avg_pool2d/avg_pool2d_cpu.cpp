// Average pooling on the CPU. Over a window it is oneDNN's; over all pixels a thread takes whole
// samples, whose channels are contiguous and go a register at a time.
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"

namespace spire {

namespace {

using namespace onednn;
using Kind = Location::Kind;

// oneDNN's descriptors: x and y (N, H, W, C), and the window's sizes in rows and columns.
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

auto describe_pooling(const dnnl::engine& engine, const PoolingDescs& o) {
  return describe<PoolingForward>(engine, attributes(), dnnl::prop_kind::forward_training,
                                  o.algorithm, o.x, o.y, o.strides, o.kernel, o.dilation, o.padding,
                                  o.padding);
}

}  // namespace

template <>
Kernel make_cpu(const AvgPool2dOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    PoolingDescs o = operands_of(op.attributes(), request.inputs[0], request.outputs[0]);
    auto desc = describe_pooling(kernel.engine(), o);
    kernel.append(desc, PoolingForward(desc),
                  {{DNNL_ARG_SRC, o.x, {Kind::input, 0}}, {DNNL_ARG_DST, o.y, {Kind::output, 0}}});
  });
}

template <>
Kernel make_cpu(const AvgPool2dBackwardOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    PoolingDescs o = operands_of(op.attributes(), request.outputs[0], request.inputs[0]);
    auto desc = describe_backward<PoolingBackward>(
        kernel.engine(), describe_pooling(kernel.engine(), o), o.algorithm, o.x, o.y, o.strides,
        o.kernel, o.dilation, o.padding, o.padding);
    kernel.append(
        desc, PoolingBackward(desc),
        {{DNNL_ARG_DIFF_DST, o.y, {Kind::input, 0}}, {DNNL_ARG_DIFF_SRC, o.x, {Kind::output, 0}}});
  });
}

// Pixels are added in their order: a sum stays in its register from the first to the last.
template <>
Kernel make_cpu(const GlobalAvgPoolOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    const Shape& shape = request.inputs[0].shape;
    return [samples = shape[0], pixels = shape[1] * shape[2], channels = shape[3],
            threads = request.threads](const KernelArgs& args) {
      auto divisor = static_cast<float>(pixels);
      parallel_for(threads, samples, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t n = begin; n < end; ++n) {
          auto x = args.in<T>(0) + n * pixels * channels;
          auto y = args.out<T>(0) + n * channels;
          over_lanes(channels, [&](int64_t c, auto count) {
            FloatLanes sum{};
            for (int64_t p = 0; p < pixels; ++p) sum += load_floats(x + p * channels + c, count);
            store_floats(sum / divisor, y + c, count);
          });
        }
      });
    };
  });
}

// Every pixel had the same share of the mean: dx = dy / pixels.
template <>
Kernel make_cpu(const GlobalAvgPoolBackwardOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    const Shape& shape = request.outputs[0].shape;
    return [samples = shape[0], pixels = shape[1] * shape[2], channels = shape[3],
            threads = request.threads](const KernelArgs& args) {
      auto divisor = static_cast<float>(pixels);
      parallel_for(threads, samples, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t n = begin; n < end; ++n) {
          auto dy = args.in<T>(0) + n * channels;
          auto dx = args.out<T>(0) + n * pixels * channels;
          over_lanes(channels, [&](int64_t c, auto count) {
            FloatLanes share = load_floats(dy + c, count) / divisor;
            for (int64_t p = 0; p < pixels; ++p) store_floats(share, dx + p * channels + c, count);
          });
        }
      });
    };
  });
}

}  // namespace spire
