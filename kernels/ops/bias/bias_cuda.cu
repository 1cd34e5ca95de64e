// Bias on a GPU: y = x + b, a pack of channels of some rows a thread; db by the column sums of
// cuda/channel_grid.h, whose order the shape alone fixes.
#include "kernels/cuda/channel_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/bias/bias.h"

namespace spire {

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

}  // namespace

void add_bias_relu_cuda(const TensorSpec& spec, const float* b, bool relu, void* y, void* stream) {
  with_any_float_type(spec.dtype, [&]<typename T>(T) {
    auto* values = static_cast<T*>(y);
    map_channels(map_grid(spec.shape), stream, Streams<T, 1>{{values}}, AddBias{b, relu}, values);
  });
}

Kernel column_sums_cuda(const TensorSpec& x, size_t input, size_t output) {
  return with_any_float_type(x.dtype, [&]<typename T>(T) {
    int64_t columns = x.shape.back();
    ColumnSums<T, float> sums(x.shape.elements() / columns, columns, x.pitch());
    auto run = [=](const KernelArgs& args) {
      sums.run(args.stream, args.in<T>(input), args.workspace, args.out<float>(output));
    };
    return Kernel(run, sums.workspace_bytes());
  });
}

template <>
Kernel make_cuda(const BiasOp&, const KernelRequest& request) {
  auto grid = map_grid(request.inputs[0].shape);
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    map_channels(grid, args.stream, Streams<T, 1>{{args.in<T>(0)}}, AddBias{args.in<float>(1)},
                 args.out<T>(0));
  });
}

template <>
Kernel make_cuda(const BiasBackwardOp&, const KernelRequest& request) {
  return column_sums_cuda(request.inputs[0], 0, 0);
}

}  // namespace spire
