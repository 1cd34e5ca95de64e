// Average pooling on the CPU. Over a window it is oneDNN's; over all pixels a thread takes whole
// samples, whose channels are contiguous and go a register at a time.
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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

struct GlobalAvgPoolExtents {
  int64_t samples, pixels, channels;
  int threads;
};

template <typename T>
class GlobalAvgPoolCpuKernel : public Kernel {
 public:
  explicit GlobalAvgPoolCpuKernel(GlobalAvgPoolExtents extents) : e_(extents) {}
  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    parallel_for(e_.threads, e_.samples, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        average(x + n * e_.pixels * e_.channels, y + n * e_.channels);
      }
    });
  }

 private:
  // Pixels are added in their order: a sum stays in its register from the first to the last.
  void average(const T* x, T* y) const {
    auto pixels = static_cast<float>(e_.pixels);
    over_lanes(e_.channels, [&](int64_t c, auto count) {
      FloatLanes sum{};
      for (int64_t p = 0; p < e_.pixels; ++p) sum += load_floats(x + p * e_.channels + c, count);
      store_floats(sum / pixels, y + c, count);
    });
  }

  GlobalAvgPoolExtents e_;
};

template <typename T>
class GlobalAvgPoolBackwardCpuKernel : public Kernel {
 public:
  explicit GlobalAvgPoolBackwardCpuKernel(GlobalAvgPoolExtents extents) : e_(extents) {}
  void run(const KernelArgs& args) override {
    auto dy = static_cast<const T*>(args.inputs[0]);
    auto dx = static_cast<T*>(args.outputs[0]);
    parallel_for(e_.threads, e_.samples, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        spread(dy + n * e_.channels, dx + n * e_.pixels * e_.channels);
      }
    });
  }

 private:
  // Every pixel had the same share of the mean: dx = dy / pixels.
  void spread(const T* dy, T* dx) const {
    auto pixels = static_cast<float>(e_.pixels);
    over_lanes(e_.channels, [&](int64_t c, auto count) {
      FloatLanes share = load_floats(dy + c, count) / pixels;
      for (int64_t p = 0; p < e_.pixels; ++p) store_floats(share, dx + p * e_.channels + c, count);
    });
  }

  GlobalAvgPoolExtents e_;
};

GlobalAvgPoolExtents extents_of(const TensorSpec& x, int threads) {
  return {x.shape[0], x.shape[1] * x.shape[2], x.shape[3], threads};
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AvgPool2dOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    PoolingDescs o = operands_of(op.attributes(), request.inputs[0], request.outputs[0]);
    auto desc = describe_pooling(kernel.engine(), o);
    kernel.append(desc, PoolingForward(desc),
                  {{DNNL_ARG_SRC, o.x, {Kind::input, 0}}, {DNNL_ARG_DST, o.y, {Kind::output, 0}}});
  });
}

template <>
std::unique_ptr<Kernel> make_cpu(const AvgPool2dBackwardOp& op, const KernelRequest& request) {
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

template <>
std::unique_ptr<Kernel> make_cpu(const GlobalAvgPoolOp&, const KernelRequest& request) {
  GlobalAvgPoolExtents extents = extents_of(request.inputs[0], request.threads);
  return make_typed<GlobalAvgPoolCpuKernel>(request.inputs[0].dtype, extents);
}

template <>
std::unique_ptr<Kernel> make_cpu(const GlobalAvgPoolBackwardOp&, const KernelRequest& request) {
  GlobalAvgPoolExtents extents = extents_of(request.outputs[0], request.threads);
  return make_typed<GlobalAvgPoolBackwardCpuKernel>(request.inputs[0].dtype, extents);
}

}  // namespace spire::inline kernels
