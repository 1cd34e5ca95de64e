// Expand on the CPU. Forward: threads share the samples, each a copy of x. Backward: threads share
// the elements and sum them over the samples in order, in fp32.
#include <Eigen/Core>

#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/expand/expand.h"

namespace spire {

namespace {

constexpr int64_t expand_block = 512;  // elements, whose sums stay in the first-level cache

// dx[i] = sum over the samples of dy[sample, i], for a block of n of the elements of a sample.
template <typename From, typename To>
void add_samples(int64_t samples, int64_t elements, const From* dy, int64_t n, To* dx) {
  alignas(64) float memory[expand_block];
  Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64> sum(memory, n);
  sum.setZero();
  for (int64_t sample = 0; sample < samples; ++sample) {
    Eigen::Map<const Eigen::ArrayX<From>> row(dy + sample * elements, n);
    sum += row.template cast<float>();
  }
  copy_range(memory, dx, n);
}

}  // namespace

// y (N, ..) = x in each sample; a parameter in fp32 may become activations in bf16.
template <>
Kernel make_cpu(const ExpandOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&]<typename From>(From) {
    int64_t samples = request.outputs[0].shape[0];
    int64_t elements = request.inputs[0].shape.elements();
    int threads = request.threads;
    return cpu_kernel(request.outputs[0].dtype, [=]<typename To>(To, const KernelArgs& args) {
      auto x = args.in<From>(0);
      auto y = args.out<To>(0);
      parallel_for(threads, samples, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t n = begin; n < end; ++n)
          over_lanes(elements, [&](int64_t i, auto count) {
            store_floats(load_floats(x + i, count), y + n * elements + i, count);
          });
      });
    });
  });
}

// Elements are summed a block at a time, so that samples are read by whole lines.
template <>
Kernel make_cpu(const ExpandBackwardOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&]<typename From>(From) {
    int64_t samples = request.inputs[0].shape[0];
    int64_t elements = request.outputs[0].shape.elements();
    int threads = request.threads;
    return cpu_kernel(request.outputs[0].dtype, [=]<typename To>(To, const KernelArgs& args) {
      parallel_for(threads, elements, expand_block, [&](int64_t begin, int64_t end, int) {
        for (int64_t first = begin; first < end; first += expand_block)
          add_samples(samples, elements, args.in<From>(0) + first,
                      std::min(expand_block, end - first), args.out<To>(0) + first);
      });
    });
  });
}

}  // namespace spire
