// Bias on a GPU: y = x + b, a pack of channels of some rows a thread; db by the column sums of
// cuda/channel_grid.h, whose order the shape alone fixes.
#include "kernels/cuda/channel_grid.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

// A functor of map_channels: loads the biases of a thread's channels once, then maps its rows.
struct AddBias {
  const float* b;     // null: zeros
  bool relu = false;  // behind the sum

  template <int N>
  __device__ Pack<float, N> channels(int64_t c) const {
    return b ? load_pack<N>(b + c) : Pack<float, N>{};
  }
  template <int N>
  __device__ float value(const Pack<float, N>& own, int i, const float* in) const {
    float sum = in[0] + own.at[i];
    return relu && sum < 0 ? 0.0f : sum;
  }
};

template <typename T>
class BiasCudaKernel : public Kernel {
 public:
  explicit BiasCudaKernel(const KernelRequest& request)
      : grid_(map_grid(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    map_channels(grid_, args.stream, Streams<T, 1>{{static_cast<const T*>(args.inputs[0])}},
                 AddBias{static_cast<const float*>(args.inputs[1])},
                 static_cast<T*>(args.outputs[0]));
  }

 private:
  ChannelGrid grid_;
};

// dy may have padded rows (DenseBackwardWeightsOp), whose padding is not read.
template <typename T>
class BiasBackwardCudaKernel : public Kernel {
 public:
  explicit BiasBackwardCudaKernel(const TensorSpec& dy)
      : sums_(dy.shape.elements() / dy.shape.back(), dy.shape.back(), dy.pitch()) {}

  size_t workspace_bytes() const override { return sums_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    sums_.run(args.stream, static_cast<const T*>(args.inputs[0]), args.workspace,
              static_cast<float*>(args.outputs[0]));
  }

 private:
  ColumnSums<T, float> sums_;
};

}  // namespace

void add_bias_relu_cuda(const TensorSpec& spec, const float* b, bool relu, void* y, void* stream) {
  with_cuda_float_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    auto* values = static_cast<T*>(y);
    map_channels(map_grid(spec.shape), stream, Streams<T, 1>{{values}}, AddBias{b, relu}, values);
  });
}

template <>
std::unique_ptr<Kernel> make_cuda(const BiasOp&, const KernelRequest& request) {
  return make_typed_cuda<BiasCudaKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BiasBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<BiasBackwardCudaKernel>(request.inputs[0].dtype, request.inputs[0]);
}

}  // namespace spire::inline kernels
