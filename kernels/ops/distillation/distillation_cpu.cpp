// Distillation on the CPU. A thread takes whole rows. Losses are summed in fp64, a partial sum a
// thread, in the threads' order.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/largest_of_row.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/distillation/distillation.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t distillation_grain = 16;  // rows

template <typename T>
class DistillationCpuKernel : public Kernel {
 public:
  DistillationCpuKernel(const DistillationOp& op, const KernelRequest& request)
      : factor_(op.attributes().loss_factor()),
        pair_{1 / op.attributes().temperature},
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads),
        adds_(request.inputs.size() == 3) {}

  size_t workspace_bytes() const override { return sizeof(double) * static_cast<size_t>(threads_); }

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]), z = static_cast<const T*>(args.inputs[1]);
    auto of_x = static_cast<float*>(args.outputs[1]), of_z = static_cast<float*>(args.outputs[2]);
    auto partial = static_cast<double*>(args.workspace);
    std::fill_n(partial, threads_, 0.0);
    parallel_for(threads_, rows_, distillation_grain, [&](int64_t begin, int64_t end, int chunk) {
      double loss = 0;
      for (int64_t n = begin; n < end; ++n)
        loss += row(x + n * classes_, z + n * classes_, of_x[n], of_z[n]);
      partial[chunk] = loss;
    });
    double sum = 0;
    for (int chunk = 0; chunk < threads_; ++chunk) sum += partial[chunk];
    double before = adds_ ? *static_cast<const double*>(args.inputs[2]) : 0;
    *static_cast<double*>(args.outputs[0]) = before + sum * factor_;
  }

 private:
  // Returns the divergence of a row, and sets the logarithms of its sums.
  double row(const T* x, const T* z, float& of_x, float& of_z) const {
    float most_x = largest_of_row(x, classes_), most_z = largest_of_row(z, classes_);
    double sum_x = 0, sum_z = 0, difference = 0;
#pragma omp simd reduction(+ : sum_x, sum_z, difference)
    for (int64_t c = 0; c < classes_; ++c) {
      SoftenedPair::Sums sums;
      pair_.add(static_cast<float>(x[c]), static_cast<float>(z[c]), most_x, most_z, sums);
      sum_x += sums.x;
      sum_z += sums.z;
      difference += sums.difference;
    }
    double log_x = std::log(sum_x), log_z = std::log(sum_z);
    of_x = static_cast<float>(static_cast<double>(most_x * pair_.inverse) + log_x);
    of_z = static_cast<float>(static_cast<double>(most_z * pair_.inverse) + log_z);
    return difference / sum_z + log_x - log_z;
  }

  double factor_;
  SoftenedPair pair_;
  int64_t rows_, classes_;
  int threads_;
  bool adds_;
};

template <typename T>
class DistillationBackwardCpuKernel : public Kernel {
 public:
  DistillationBackwardCpuKernel(const DistillationBackwardOp& op, const KernelRequest& request)
      : factor_(op.attributes().gradient_factor()),
        pair_{1 / op.attributes().temperature},
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]), z = static_cast<const T*>(args.inputs[1]);
    auto of_x = static_cast<const float*>(args.inputs[2]);
    auto of_z = static_cast<const float*>(args.inputs[3]);
    auto dx = static_cast<T*>(args.outputs[0]);
    float scale = factor_ * args.step->loss_gradient_scale();
    parallel_for(threads_, rows_, distillation_grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        int64_t first = n * classes_;
        float row_x = of_x[n], row_z = of_z[n];
#pragma omp simd
        for (int64_t c = first; c < first + classes_; ++c)
          dx[c] = T(scale * pair_.difference(static_cast<float>(x[c]), static_cast<float>(z[c]),
                                             row_x, row_z));
      }
    });
  }

 private:
  float factor_;
  SoftenedPair pair_;
  int64_t rows_, classes_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const DistillationOp& op, const KernelRequest& request) {
  return make_typed<DistillationCpuKernel>(request.inputs[0].dtype, op, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const DistillationBackwardOp& op, const KernelRequest& request) {
  return make_typed<DistillationBackwardCpuKernel>(request.inputs[0].dtype, op, request);
}

}  // namespace spire::inline kernels
