// The backward of batch normalization over all towers: its two passes, as kernels of their own.
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm_backward_passes.h"
#include "kernels/ops/batch_norm/batch_norm_sync.h"

namespace spire::inline kernels {

namespace {

template <typename T, ReluMask mask>
class BatchNormGradientSumsCpuKernel : public Kernel {
 public:
  explicit BatchNormGradientSumsCpuKernel(const KernelRequest& request)
      : tiles_(request.inputs[0].shape), threads_(request.threads), scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    first_pass<mask, T>(args, tiles_, threads_, scratch_);
    auto inv_std = static_cast<const float*>(args.inputs[4]);
    auto sums = static_cast<double*>(args.outputs[0]);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      auto [dbeta, dgamma] = channel_gradients(scratch_, c, inv_std[c]);
      sums[c] = dbeta;
      sums[tiles_.channels + c] = dgamma;
    }
    sums[2 * tiles_.channels] = static_cast<double>(tiles_.rows);
  }

 private:
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <typename T, ReluMask mask>
class BatchNormSyncBackwardCpuKernel : public Kernel {
 public:
  explicit BatchNormSyncBackwardCpuKernel(const KernelRequest& request)
      : tiles_(request.inputs[0].shape), threads_(request.threads), scratch_(tiles_, 0) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto beta = mask == ReluMask::from_x ? static_cast<const float*>(args.inputs[6]) : nullptr;
    BackwardRows<T> p = backward_operands<T>(args, tiles_, scratch_, beta);
    auto inv_std = static_cast<const float*>(args.inputs[4]);
    auto sums = static_cast<const double*>(args.inputs[5]);
    int64_t channels = tiles_.channels;
    double n = std::max(sums[2 * channels], 1.0);
    for (int64_t c = 0; c < channels; ++c) {
      set_slope(scratch_, c, inv_std[c], {.dbeta = sums[c], .dgamma = sums[channels + c]}, n);
    }
    write_dx<mask>(tiles_, threads_, p, scratch_, static_cast<T*>(args.outputs[0]));
  }

 private:
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormGradientSumsOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_first_pass<BatchNormGradientSumsCpuKernel>(attributes, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormSyncBackwardOp& op, const KernelRequest& request) {
  bool masks = op.masks();
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (masks)
      return std::make_unique<BatchNormSyncBackwardCpuKernel<T, ReluMask::from_x>>(request);
    return std::make_unique<BatchNormSyncBackwardCpuKernel<T, ReluMask::none>>(request);
  });
}

}  // namespace spire::inline kernels
