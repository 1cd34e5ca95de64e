// The exact cross entropy on the CPU: threads share the rows.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t exact_loss_grain = 16;  // rows

class ExactCrossEntropyCpuKernel : public Kernel {
 public:
  ExactCrossEntropyCpuKernel(const ExactCrossEntropyOp& op, const KernelRequest& request)
      : attributes_(op.attributes()),
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_) * sizeof(ExactLoss);
  }

  void run(const KernelArgs& args) override {
    auto* logits = static_cast<const float*>(args.inputs[0]);
    auto* logsumexp = static_cast<float*>(args.outputs[2]);
    auto* partial = static_cast<ExactLoss*>(args.workspace);
    LabelTargets targets(attributes_, classes_, args.inputs, 2);
    auto smoothing = static_cast<double>(attributes_.label_smoothing);
    auto weight = static_cast<double>(attributes_.weight);
    std::fill_n(partial, threads_, ExactLoss{});
    parallel_for(threads_, rows_, exact_loss_grain, [&](int64_t begin, int64_t end, int chunk) {
      for (int64_t row = begin; row < end; ++row) {
        ExactSoftmaxRow softmax(logits + row * classes_, classes_);
        ExactLoss one = softmax.loss(targets.of(row), smoothing, weight);
        partial[chunk].loss += one.loss;
        partial[chunk].correct += one.correct;
        logsumexp[row] = static_cast<float>(one.logsumexp);
      }
    });
    ExactLoss sums;
    for (int chunk = 0; chunk < threads_; ++chunk) {
      sums.loss += partial[chunk].loss;
      sums.correct += partial[chunk].correct;
    }
    *static_cast<double*>(args.outputs[0]) = sums.loss;
    *static_cast<double*>(args.outputs[1]) = sums.correct;
  }

 private:
  SoftmaxCrossEntropyAttributes attributes_;
  int64_t rows_, classes_;
  int threads_;
};

class ExactCrossEntropyBackwardCpuKernel : public Kernel {
 public:
  ExactCrossEntropyBackwardCpuKernel(const ExactCrossEntropyBackwardOp& op,
                                     const KernelRequest& request)
      : attributes_(op.attributes()),
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto* logits = static_cast<const float*>(args.inputs[0]);
    auto* dx = static_cast<float*>(args.outputs[0]);
    LabelTargets targets(attributes_, classes_, args.inputs, 2);
    auto smoothing = static_cast<double>(attributes_.label_smoothing);
    double scale = static_cast<double>(attributes_.weight) *
                   static_cast<double>(args.step->loss_gradient_scale());
    parallel_for(threads_, rows_, exact_loss_grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        ExactSoftmaxRow softmax(logits + row * classes_, classes_);
        LabelTarget target = targets.of(row);
        for (int64_t c = 0; c < classes_; ++c)
          dx[row * classes_ + c] = softmax.gradient(c, target, smoothing, scale);
      }
    });
  }

 private:
  SoftmaxCrossEntropyAttributes attributes_;
  int64_t rows_, classes_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ExactCrossEntropyOp& op, const KernelRequest& request) {
  return std::make_unique<ExactCrossEntropyCpuKernel>(op, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const ExactCrossEntropyBackwardOp& op,
                                 const KernelRequest& request) {
  return std::make_unique<ExactCrossEntropyBackwardCpuKernel>(op, request);
}

}  // namespace spire::inline kernels
