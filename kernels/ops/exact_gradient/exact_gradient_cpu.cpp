// Rounded gradients on the CPU: threads share the entries.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_gradient/exact_gradient.h"

namespace spire {

namespace {

constexpr int64_t outputs_at_a_time = 8;

// The totals of some outputs at a time, which lie beside each other.
void write_exact_weights(const ExactGradient& gradient, int threads, const double* total,
                         float* dw) {
  int64_t rows = gradient.taps * gradient.inputs;
  parallel_for(threads, gradient.outputs, outputs_at_a_time, [&](int64_t begin, int64_t end, int) {
    for (int64_t o = begin; o < end; o += outputs_at_a_time) {
      int64_t last = std::min(end, o + outputs_at_a_time);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t n = o; n < last; ++n)
          dw[gradient.index(row, n)] = gradient.weight(total, row, n);
    }
  });
}

}  // namespace

template <>
Kernel make_cpu(const ExactGradientOp& op, const KernelRequest& request) {
  return [gradient = exact_gradient(op.weights()), bias = op.bias(),
          threads = request.threads](const KernelArgs& args) {
    auto total = args.in<double>(0);
    bool first = args.step->first_row == 0;
    auto dw = args.out<float>(0);
    if (first) {
      write_exact_weights(gradient, threads, total, dw);
    } else {
      std::fill_n(dw, gradient.weights(), 0.0f);
    }
    if (!bias) return;
    auto db = args.out<float>(1);
    for (int64_t o = 0; o < gradient.outputs; ++o) db[o] = first ? gradient.bias(total, o) : 0.0f;
  };
}

}  // namespace spire
