// Both passes over the tower's own rows.
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm_backward_passes.h"

namespace spire::inline kernels {

namespace {

template <typename T, ReluMask mask>
class BatchNormBackwardCpuKernel : public Kernel {
 public:
  explicit BatchNormBackwardCpuKernel(const KernelRequest& request)
      : tiles_(request.inputs[0].shape), threads_(request.threads), scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    BackwardRows<T> p = first_pass<mask, T>(args, tiles_, threads_, scratch_);
    auto inv_std = static_cast<const float*>(args.inputs[4]);
    double n = static_cast<double>(std::max<int64_t>(tiles_.rows, 1));
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      set_slope(scratch_, c, inv_std[c], channel_gradients(scratch_, c, inv_std[c]), n);
    }
    write_dx<second_mask(mask)>(tiles_, threads_, p, scratch_, static_cast<T*>(args.outputs[0]));
  }

 private:
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormBackwardOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_first_pass<BatchNormBackwardCpuKernel>(attributes, request);
}

}  // namespace spire::inline kernels
