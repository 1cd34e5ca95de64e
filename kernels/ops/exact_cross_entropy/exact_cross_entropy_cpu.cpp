// The exact cross entropy on the CPU: threads share the rows.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"

namespace spire {

namespace {

constexpr int64_t exact_loss_grain = 16;  // rows

}  // namespace

template <>
Kernel make_cpu(const ExactCrossEntropyOp& op, const KernelRequest& request) {
  auto run = [attributes = op.attributes(), rows = request.inputs[0].shape[0],
              classes = request.inputs[0].shape[1],
              threads = request.threads](const KernelArgs& args) {
    auto logits = args.in<float>(0);
    LabelTargets targets(attributes, classes, args.inputs);
    auto smoothing = static_cast<double>(attributes.label_smoothing);
    auto weight = static_cast<double>(attributes.weight);
    auto add_rows = [&](int64_t begin, int64_t end) {
      ExactLoss sums;
      for (int64_t row = begin; row < end; ++row) {
        ExactSoftmaxRow softmax(logits + row * classes, classes);
        sums += softmax.loss(targets.of(row), smoothing, weight);
      }
      return sums;
    };
    ExactLoss sums =
        sum_chunks(args.scratch<ExactLoss>(), threads, rows, exact_loss_grain, add_rows);
    *args.out<double>(0) = sums.loss;
    *args.out<double>(1) = sums.correct;
  };
  return Kernel(run, static_cast<size_t>(request.threads) * sizeof(ExactLoss));
}

template <>
Kernel make_cpu(const ExactCrossEntropyBackwardOp& op, const KernelRequest& request) {
  return [attributes = op.attributes(), rows = request.inputs[0].shape[0],
          classes = request.inputs[0].shape[1], threads = request.threads](const KernelArgs& args) {
    auto logits = args.in<float>(0);
    auto dx = args.out<float>(0);
    LabelTargets targets(attributes, classes, args.inputs);
    auto smoothing = static_cast<double>(attributes.label_smoothing);
    double scale = static_cast<double>(attributes.weight) *
                   static_cast<double>(args.step->loss_gradient_scale());
    parallel_for(threads, rows, exact_loss_grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        ExactSoftmaxRow softmax(logits + row * classes, classes);
        LabelTarget target = targets.of(row);
        for (int64_t c = 0; c < classes; ++c)
          dx[row * classes + c] = softmax.gradient(c, target, smoothing, scale);
      }
    });
  };
}

}  // namespace spire
