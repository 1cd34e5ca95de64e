// Training: moments, statistics, normalize; evaluation: normalize, from the running statistics.
#include "kernels/ops/batch_norm/batch_norm_forward_cuda.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct FinishStatistics : WriteStatistics {
  double rows;
  __device__ void operator()(int64_t c, const double* totals) const {
    write(c, totals[0], totals[1], rows);
  }
};

template <typename T>
class BatchNormCudaKernel : public Kernel {
 public:
  BatchNormCudaKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        sums_(sums_grid(request.inputs[0].shape)),
        map_(map_grid(request.inputs[0].shape)) {}

  size_t workspace_bytes() const override { return partial_bytes(sums_); }

  void run(const KernelArgs& args) override {
    WriteStatistics statistics = write_statistics(args, attributes_.epsilon);
    sum_moments(sums_, args.stream, static_cast<const T*>(args.inputs[0]),
                static_cast<double*>(args.workspace),
                FinishStatistics{statistics, static_cast<double>(sums_.rows)});
    AffineVectors<ScaleByInvStd> vectors{static_cast<const float*>(args.inputs[1]),
                                         static_cast<const float*>(args.inputs[2]),
                                         statistics.mean,
                                         {statistics.inv_std}};
    normalize<ScaleByInvStd, T>(map_, args.stream, attributes_, vectors, args.inputs[0],
                                attributes_.residual ? args.inputs[3] : nullptr, args.outputs[0]);
  }

 private:
  BatchNormAttributes attributes_;
  ChannelGrid sums_, map_;
};

template <typename T>
class BatchNormEvalCudaKernel : public Kernel {
 public:
  BatchNormEvalCudaKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes), map_(map_grid(request.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    auto vector = [&](size_t k) { return static_cast<const float*>(args.inputs[k]); };
    AffineVectors<ScaleByVariance> vectors{
        vector(1), vector(2), vector(3), {vector(4), attributes_.epsilon}};
    normalize<ScaleByVariance, T>(map_, args.stream, attributes_, vectors, args.inputs[0],
                                  attributes_.residual ? args.inputs[5] : nullptr, args.outputs[0]);
  }

 private:
  BatchNormAttributes attributes_;
  ChannelGrid map_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormOp& op, const KernelRequest& request) {
  return make_typed_cuda<BatchNormCudaKernel>(request.inputs[0].dtype, op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormEvalOp& op, const KernelRequest& request) {
  return make_typed_cuda<BatchNormEvalCudaKernel>(request.inputs[0].dtype, op.attributes(),
                                                  request);
}

}  // namespace spire::inline kernels
