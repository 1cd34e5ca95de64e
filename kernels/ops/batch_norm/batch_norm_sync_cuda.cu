// The forward of batch normalization over all towers: the passes of the plain form, as kernels of
// their own.
#include "kernels/ops/batch_norm/batch_norm_forward_cuda.h"
#include "kernels/ops/batch_norm/batch_norm_sync.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct FinishMoments {
  int64_t channels, rows;
  double* sums;

  __device__ void operator()(int64_t c, const double* totals) const {
    sums[c] = totals[0];
    sums[channels + c] = totals[1];
    if (c == 0) sums[2 * channels] = static_cast<double>(rows);
  }
};

template <typename T>
class BatchNormMomentsCudaKernel : public Kernel {
 public:
  explicit BatchNormMomentsCudaKernel(const KernelRequest& request)
      : grid_(sums_grid(request.inputs[0].shape)) {}

  size_t workspace_bytes() const override { return partial_bytes(grid_); }

  void run(const KernelArgs& args) override {
    sum_moments(grid_, args.stream, static_cast<const T*>(args.inputs[0]),
                static_cast<double*>(args.workspace),
                FinishMoments{grid_.channels, grid_.rows, static_cast<double*>(args.outputs[0])});
  }

 private:
  ChannelGrid grid_;
};

__global__ void __launch_bounds__(channel_threads)
    statistics_kernel(int64_t channels, const double* sums, WriteStatistics statistics) {
  int64_t c = int64_t{blockIdx.x} * channel_threads + threadIdx.x;
  if (c < channels) statistics.write(c, sums[c], sums[channels + c], sums[2 * channels]);
}

template <typename T>
class BatchNormSyncCudaKernel : public Kernel {
 public:
  BatchNormSyncCudaKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes), map_(map_grid(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    WriteStatistics statistics = write_statistics(args, attributes_.epsilon);
    launch(statistics_kernel, blocks_for(map_.channels, channel_threads), channel_threads,
           args.stream, map_.channels, static_cast<const double*>(args.inputs[3]), statistics);
    AffineVectors<ScaleByInvStd> vectors{static_cast<const float*>(args.inputs[1]),
                                         static_cast<const float*>(args.inputs[2]),
                                         statistics.mean,
                                         {statistics.inv_std}};
    normalize<ScaleByInvStd, T>(map_, args.stream, attributes_, vectors, args.inputs[0],
                                attributes_.residual ? args.inputs[4] : nullptr, args.outputs[0]);
  }

 private:
  BatchNormAttributes attributes_;
  ChannelGrid map_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormMomentsOp&, const KernelRequest& request) {
  return make_typed_cuda<BatchNormMomentsCudaKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormSyncOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed_cuda<BatchNormSyncCudaKernel>(request.inputs[0].dtype, attributes, request);
}

}  // namespace spire::inline kernels
