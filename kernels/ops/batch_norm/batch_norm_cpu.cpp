// Training: both passes over the tower's own rows, with nothing of x's size kept in between.
// Evaluation: the second pass, from the running statistics.
#include "kernels/ops/batch_norm/batch_norm_forward_passes.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class BatchNormCpuKernel : public Kernel {
 public:
  BatchNormCpuKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto x = static_cast<const T*>(args.inputs[0]);
    auto addend = attributes_.residual ? static_cast<const T*>(args.inputs[3]) : nullptr;
    sum_moments(tiles_, threads_, x, scratch_);
    ChannelAffine affinity = write_statistics(
        args, tiles_, scratch_, attributes_.epsilon, static_cast<double>(tiles_.rows),
        [&](int which, int64_t c) { return scratch_.total(which, c); });
    normalize(tiles_, threads_, attributes_, x, addend, affinity, static_cast<T*>(args.outputs[0]));
  }

 private:
  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

template <typename T>
class BatchNormEvalCpuKernel : public Kernel {
 public:
  BatchNormEvalCpuKernel(const BatchNormAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        tiles_(request.inputs[0].shape),
        threads_(request.threads),
        scratch_(tiles_, 0) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    auto vector = [&](size_t k) { return static_cast<const float*>(args.inputs[k]); };
    float *center = scratch_.table(0), *scale = scratch_.table(1), *shift = scratch_.table(2);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      center[c] = vector(3)[c];
      scale[c] = vector(1)[c] / std::sqrt(vector(4)[c] + attributes_.epsilon);
      shift[c] = vector(2)[c];
    }
    for (float* lanes : {center, scale, shift}) repeat_lanes(tiles_, lanes);
    auto addend = attributes_.residual ? static_cast<const T*>(args.inputs[5]) : nullptr;
    normalize(tiles_, threads_, attributes_, static_cast<const T*>(args.inputs[0]), addend,
              {center, scale, shift}, static_cast<T*>(args.outputs[0]));
  }

 private:
  BatchNormAttributes attributes_;
  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormOp& op, const KernelRequest& request) {
  return make_typed<BatchNormCpuKernel>(request.inputs[0].dtype, op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const BatchNormEvalOp& op, const KernelRequest& request) {
  return make_typed<BatchNormEvalCpuKernel>(request.inputs[0].dtype, op.attributes(), request);
}

}  // namespace spire::inline kernels
