// Distillation on the CPU. A thread takes whole rows. Losses are summed in fp64, a partial sum a
// thread, in the threads' order.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/kernel.h"
#include "kernels/ops/distillation/distillation.h"

namespace spire {

namespace {

constexpr int64_t distillation_grain = 16;  // rows

// Returns the divergence of a row, and sets the logarithms of its sums.
template <typename T>
double divergence(const SoftenedPair& pair, int64_t classes, const T* x, const T* z, float& of_x,
                  float& of_z) {
  float most_x = largest_of_row(x, classes), most_z = largest_of_row(z, classes);
  double sum_x = 0, sum_z = 0, difference = 0;
#pragma omp simd reduction(+ : sum_x, sum_z, difference)
  for (int64_t c = 0; c < classes; ++c) {
    SoftenedPair::Sums sums;
    pair.add(static_cast<float>(x[c]), static_cast<float>(z[c]), most_x, most_z, sums);
    sum_x += sums.x;
    sum_z += sums.z;
    difference += sums.difference;
  }
  double log_x = std::log(sum_x), log_z = std::log(sum_z);
  of_x = static_cast<float>(static_cast<double>(most_x * pair.inverse) + log_x);
  of_z = static_cast<float>(static_cast<double>(most_z * pair.inverse) + log_z);
  return difference / sum_z + log_x - log_z;
}

}  // namespace

template <>
Kernel make_cpu(const DistillationOp& op, const KernelRequest& request) {
  SoftenedPair pair{1 / op.attributes().temperature};
  double factor = op.attributes().loss_factor();
  int64_t rows = request.inputs[0].shape[0], classes = request.inputs[0].shape[1];
  bool adds = request.inputs.size() == 3;
  int threads = request.threads;
  size_t bytes = sizeof(double) * static_cast<size_t>(threads);
  return cpu_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto x = args.in<T>(0), z = args.in<T>(1);
    auto of_x = args.out<float>(1), of_z = args.out<float>(2);
    auto add_rows = [&](int64_t begin, int64_t end) {
      double loss = 0;
      for (int64_t n = begin; n < end; ++n)
        loss += divergence(pair, classes, x + n * classes, z + n * classes, of_x[n], of_z[n]);
      return loss;
    };
    double sum = sum_chunks(args.scratch<double>(), threads, rows, distillation_grain, add_rows);
    double before = adds ? *args.in<double>(2) : 0;
    *args.out<double>(0) = before + sum * factor;
  });
}

template <>
Kernel make_cpu(const DistillationBackwardOp& op, const KernelRequest& request) {
  SoftenedPair pair{1 / op.attributes().temperature};
  float factor = op.attributes().gradient_factor();
  int64_t rows = request.inputs[0].shape[0], classes = request.inputs[0].shape[1];
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto x = args.in<T>(0), z = args.in<T>(1);
    auto of_x = args.in<float>(2), of_z = args.in<float>(3);
    auto dx = args.out<T>(0);
    float scale = factor * args.step->loss_gradient_scale();
    parallel_for(threads, rows, distillation_grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        int64_t first = n * classes;
        float row_x = of_x[n], row_z = of_z[n];
#pragma omp simd
        for (int64_t c = first; c < first + classes; ++c)
          dx[c] = T(scale * pair.difference(static_cast<float>(x[c]), static_cast<float>(z[c]),
                                            row_x, row_z));
      }
    });
  });
}

}  // namespace spire
