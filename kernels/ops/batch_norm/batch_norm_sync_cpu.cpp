// The forward of batch normalization over all towers: its two passes, as kernels of their own.
#include "kernels/ops/batch_norm/batch_norm_forward_passes.h"
#include "kernels/ops/batch_norm/batch_norm_sync.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class BatchNormMomentsCpuKernel : public Kernel {
 public:
  explicit BatchNormMomentsCpuKernel(const KernelRequest& request)
      : tiles_(request.inputs[0].shape), threads_(request.threads), scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    sum_moments(tiles_, threads_, static_cast<const T*>(args.inputs[0]), scratch_);
    auto sums = static_cast<double*>(args.outputs[0]);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      sums[c] = scratch_.total(0, c);
      sums[tiles_.channels + c] = scratch_.total(1, c);
    }
    sums[2 * tiles_.channels] = static_cast<double>(tiles_.rows);
  }

 private:
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <typename T>
class BatchNormSyncCpuKernel : public Kernel {
 public:
  BatchNormSyncCpuKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, 0) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto sums = static_cast<const double*>(args.inputs[3]);
    int64_t channels = tiles_.channels;
    ChannelAffine affinity =
        write_statistics(args, tiles_, scratch_, attributes_.epsilon, sums[2 * channels],
                         [=](int which, int64_t c) { return sums[which * channels + c]; });
    auto addend = attributes_.residual ? static_cast<const T*>(args.inputs[4]) : nullptr;
    normalize(tiles_, threads_, attributes_, static_cast<const T*>(args.inputs[0]), addend,
              affinity, static_cast<T*>(args.outputs[0]));
  }

 private:
  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormMomentsOp&, const KernelRequest& request) {
  return make_typed<BatchNormMomentsCpuKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormSyncOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<BatchNormSyncCpuKernel>(request.inputs[0].dtype, attributes, request);
}

}  // namespace spire::inline kernels
