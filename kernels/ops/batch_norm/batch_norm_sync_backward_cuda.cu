// The backward of batch normalization over all towers: the passes of the plain form, as kernels of
// their own.
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm_backward_cuda.h"
#include "kernels/ops/batch_norm/batch_norm_sync.h"

namespace spire::inline kernels {

namespace {

struct FinishSums {
  const float* inv_std;
  int64_t channels, rows;
  float *dgamma, *dbeta;
  double* sums;

  __device__ void operator()(int64_t c, const double* totals) const {
    auto gradients = channel_gradients(totals[0], totals[1], inv_std[c]);
    dgamma[c] = static_cast<float>(gradients.dgamma);
    dbeta[c] = static_cast<float>(gradients.dbeta);
    sums[c] = gradients.dbeta;
    sums[channels + c] = gradients.dgamma;
    if (c == 0) sums[2 * channels] = static_cast<double>(rows);
  }
};

template <typename T, ReluMask mask>
class BatchNormGradientSumsCudaKernel : public Kernel {
 public:
  explicit BatchNormGradientSumsCudaKernel(const KernelRequest& request)
      : grid_(sums_grid(request.inputs[0].shape)) {}

  size_t workspace_bytes() const override { return partial_bytes(grid_); }

  void run(const KernelArgs& args) override {
    sum_gradients<mask, T>(
        grid_, args, static_cast<double*>(args.workspace),
        FinishSums{static_cast<const float*>(args.inputs[4]), grid_.channels, grid_.rows,
                   static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2]),
                   static_cast<double*>(args.outputs[0])});
  }

 private:
  ChannelGrid grid_;
};

// slope and offset of each channel from the sums over all towers.
__global__ void __launch_bounds__(channel_threads)
    dx_map_kernel(int64_t channels, const float* gamma, const float* inv_std, const double* sums,
                  float* slope, float* offset) {
  int64_t c = int64_t{blockIdx.x} * channel_threads + threadIdx.x;
  if (c >= channels) return;
  double rows = sums[2 * channels];
  DxMap map = dx_map(gamma[c] * inv_std[c], inv_std[c],
                     {.dbeta = sums[c], .dgamma = sums[channels + c]}, rows > 1 ? rows : 1);
  slope[c] = map.slope;
  offset[c] = map.offset;
}

// Workspace: slope and offset, each at a multiple of 16 bytes where rows take packs.
template <typename T, ReluMask mask>
class BatchNormSyncBackwardCudaKernel : public Kernel {
 public:
  explicit BatchNormSyncBackwardCudaKernel(const KernelRequest& request)
      : map_(map_grid(request.inputs[0].shape)) {}

  size_t workspace_bytes() const override {
    return 2 * static_cast<size_t>(map_.channels) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    auto slope = static_cast<float*>(args.workspace), offset = slope + map_.channels;
    auto vectors = training_vectors(args, mask == ReluMask::from_x ? args.inputs[6] : nullptr);
    launch(dx_map_kernel, blocks_for(map_.channels, channel_threads), channel_threads, args.stream,
           map_.channels, vectors.gamma, vectors.scale.inv_std,
           static_cast<const double*>(args.inputs[5]), slope, offset);
    Streams<T, 2> streams{
        {static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1])}};
    map_channels(map_, args.stream, streams, WriteDx<mask>{vectors, slope, offset},
                 static_cast<T*>(args.outputs[0]));
  }

 private:
  ChannelGrid map_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormGradientSumsOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_first_pass_cuda<BatchNormGradientSumsCudaKernel>(attributes, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormSyncBackwardOp& op, const KernelRequest& request) {
  bool masks = op.masks();
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (masks)
      return std::make_unique<BatchNormSyncBackwardCudaKernel<T, ReluMask::from_x>>(request);
    return std::make_unique<BatchNormSyncBackwardCudaKernel<T, ReluMask::none>>(request);
  });
}

}  // namespace spire::inline kernels
