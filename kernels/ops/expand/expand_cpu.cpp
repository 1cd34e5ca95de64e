// Expand on the CPU. Forward: threads share the samples, each a copy of x. Backward: threads share
// the elements and sum them over the samples in order, in fp32.
#include <Eigen/Core>

#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

// y (N, ..) = x in each sample; a parameter in fp32 may become activations in bf16.
template <typename From, typename To>
class ExpandCpuKernel : public Kernel {
 public:
  explicit ExpandCpuKernel(const KernelRequest& request)
      : samples_(request.outputs[0].shape[0]),
        elements_(request.inputs[0].shape.elements()),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const From*>(args.inputs[0]);
    auto y = static_cast<To*>(args.outputs[0]);
    parallel_for(threads_, samples_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        over_lanes(elements_, [&](int64_t i, auto count) {
          store_floats(load_floats(x + i, count), y + n * elements_ + i, count);
        });
      }
    });
  }

 private:
  int64_t samples_, elements_;
  int threads_;
};

template <typename From, typename To>
class ExpandBackwardCpuKernel : public Kernel {
 public:
  explicit ExpandBackwardCpuKernel(const KernelRequest& request)
      : samples_(request.inputs[0].shape[0]),
        elements_(request.outputs[0].shape.elements()),
        threads_(request.threads) {}

  // Elements are summed a block at a time, so that samples are read by whole lines.
  void run(const KernelArgs& args) override {
    auto dy = static_cast<const From*>(args.inputs[0]);
    auto dx = static_cast<To*>(args.outputs[0]);
    parallel_for(threads_, elements_, block, [&](int64_t begin, int64_t end, int) {
      for (int64_t first = begin; first < end; first += block) {
        add_block(dy + first, std::min(block, end - first), dx + first);
      }
    });
  }

 private:
  static constexpr int64_t block = 512;  // elements, whose sums stay in the first-level cache

  // dx[i] = sum over the samples of dy[sample, i], for a block of elements.
  void add_block(const From* dy, int64_t n, To* dx) const {
    alignas(64) float memory[block];
    Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64> sum(memory, n);
    sum.setZero();
    for (int64_t sample = 0; sample < samples_; ++sample) {
      Eigen::Map<const Eigen::ArrayX<From>> row(dy + sample * elements_, n);
      sum += row.template cast<float>();
    }
    copy_range(memory, dx, n);
  }

  int64_t samples_, elements_;
  int threads_;
};

template <template <typename, typename> class K>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto from) {
    return with_float_type(request.outputs[0].dtype, [&](auto to) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(from), decltype(to)>>(request);
    });
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ExpandOp&, const KernelRequest& request) {
  return make<ExpandCpuKernel>(request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const ExpandBackwardOp&, const KernelRequest& request) {
  return make<ExpandBackwardCpuKernel>(request);
}

}  // namespace spire::inline kernels
