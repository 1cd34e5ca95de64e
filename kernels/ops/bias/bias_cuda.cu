#include "kernels/cuda/column_sums.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct AddBias {
  const float* b;

  template <int N>
  __device__ Pack<float, N> channels(int64_t c) const {
    return load_pack<N>(b + c);
  }
  template <int N>
  __device__ float value(const Pack<float, N>& own, int i, const float* in) const {
    return in[0] + own.at[i];
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

template <>
std::unique_ptr<Kernel> make_cuda(const BiasOp&, const KernelRequest& request) {
  return make_typed_cuda<BiasCudaKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BiasBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<BiasBackwardCudaKernel>(request.inputs[0].dtype, request.inputs[0]);
}

}  // namespace spire::inline kernels
