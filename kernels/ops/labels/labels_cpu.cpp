// Ops on class labels on the CPU: threads share the rows.
#include <algorithm>
#include <limits>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/labels/labels.h"

namespace spire {

template <>
Kernel make_cpu(const OneHotOp& op, const KernelRequest& request) {
  auto weights = op.attributes().weights;
  int64_t rows = request.outputs[0].shape[0], classes = request.outputs[0].shape[1];
  int threads = request.threads;
  return cpu_kernel(request.outputs[0].dtype, [=]<typename T>(T, const KernelArgs& args) {
    auto labels = args.in<int32_t>(0);
    parallel_for(threads, rows, 64, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        T* row = args.out<T>(0) + n * classes;
        // A label that is no class makes NaN: the loss shows it, where an exception could not
        // pass.
        bool valid = labels[n] >= 0 && labels[n] < classes;
        std::fill_n(row, classes, valid ? T(0.0f) : T(std::numeric_limits<float>::quiet_NaN()));
        if (!valid) continue;
        row[labels[n]] = weights.empty() ? 1.0f : weights[static_cast<size_t>(labels[n])];
      }
    });
  });
}

template <>
Kernel make_cpu(const ExactMatchOp&, const KernelRequest& request) {
  int64_t samples = request.inputs[0].shape[0], labels = request.inputs[0].shape[1];
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    parallel_for(threads, samples, 64, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n)
        args.out<float>(0)[n] =
            exact_match(args.in<T>(0) + n * labels, args.in<float>(1) + n * labels, labels);
    });
  });
}

}  // namespace spire
