// The backward of batch normalization over all towers: its two passes, as kernels of their own.
#include "kernels/ops/batch_norm/batch_norm_backward_passes.h"
#include "kernels/ops/batch_norm/batch_norm_sync.h"

namespace spire::inline kernels {

namespace {

template <typename T, Mask mask>
class GradientSumsKernel : public Kernel {
 public:
  explicit GradientSumsKernel(const KernelRequest& request)
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

template <typename T, Mask mask>
class SyncBackwardKernel : public Kernel {
 public:
  explicit SyncBackwardKernel(const KernelRequest& request)
      : tiles_(request.inputs[0].shape), threads_(request.threads), scratch_(tiles_, 0) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto beta = mask == Mask::from_x ? static_cast<const float*>(args.inputs[6]) : nullptr;
    Backward<T> p = backward_operands<T>(args, tiles_, scratch_, beta);
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

std::unique_ptr<Kernel> make_batch_norm_gradient_sums_cpu(const Op& op,
                                                          const KernelRequest& request) {
  const auto& attributes = static_cast<const BatchNormGradientSumsOp&>(op).attributes();
  return make_first_pass<GradientSumsKernel>(attributes, request);
}

std::unique_ptr<Kernel> make_batch_norm_sync_backward_cpu(const Op& op,
                                                          const KernelRequest& request) {
  bool masks = static_cast<const BatchNormSyncBackwardOp&>(op).masks();
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (masks) return std::make_unique<SyncBackwardKernel<T, Mask::from_x>>(request);
    return std::make_unique<SyncBackwardKernel<T, Mask::none>>(request);
  });
}

}  // namespace spire::inline kernels
