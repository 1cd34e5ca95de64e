// Both passes over the tower's own rows.
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm_backward_cuda.h"

namespace spire::inline kernels {

namespace {

struct FinishGradients {
  const float *gamma, *inv_std;
  double rows;
  float *dgamma, *dbeta, *slope, *offset;

  __device__ void operator()(int64_t c, const double* totals) const {
    auto gradients = channel_gradients(totals[0], totals[1], inv_std[c]);
    dgamma[c] = static_cast<float>(gradients.dgamma);
    dbeta[c] = static_cast<float>(gradients.dbeta);
    DxMap map = dx_map(gamma[c] * inv_std[c], inv_std[c], gradients, rows);
    slope[c] = map.slope;
    offset[c] = map.offset;
  }
};

// Workspace: the partial sums, slope, offset; the latter at multiples of 16 bytes.
template <typename T, ReluMask mask>
class BatchNormBackwardCudaKernel : public Kernel {
 public:
  explicit BatchNormBackwardCudaKernel(const KernelRequest& request)
      : sums_(sums_grid(request.inputs[0].shape)), map_(map_grid(request.inputs[0].shape)) {}

  size_t workspace_bytes() const override {
    return partial_bytes(sums_) + 2 * static_cast<size_t>(sums_.channels) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    constexpr ReluMask second = second_mask(mask);
    auto partial = static_cast<double*>(args.workspace);
    auto slope = reinterpret_cast<float*>(partial + 2 * sums_.channels * sums_.chunks);
    float* offset = slope + sums_.channels;
    const T* g = sum_gradients<mask, T>(
        sums_, args, partial,
        FinishGradients{static_cast<const float*>(args.inputs[2]),
                        static_cast<const float*>(args.inputs[4]),
                        static_cast<double>(std::max<int64_t>(sums_.rows, 1)),
                        static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2]),
                        slope, offset});
    auto vectors = training_vectors(args, second == ReluMask::from_x ? args.inputs[5] : nullptr);
    map_channels(map_, args.stream, Streams<T, 2>{{g, static_cast<const T*>(args.inputs[1])}},
                 WriteDx<second>{vectors, slope, offset}, static_cast<T*>(args.outputs[0]));
  }

 private:
  ChannelGrid sums_, map_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const BatchNormBackwardOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_first_pass_cuda<BatchNormBackwardCudaKernel>(attributes, request);
}

}  // namespace spire::inline kernels
