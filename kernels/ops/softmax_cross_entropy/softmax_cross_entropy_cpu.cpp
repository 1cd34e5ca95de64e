// Softmax cross entropy on the CPU. A thread takes whole rows: their largest logit, then the sum of
// exponentials about it, in fp32. Losses are summed in fp64, a partial sum a thread, in the
// threads' order.
#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/elementary.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t grain = 16;  // rows

// Sums over rows: of losses, and of rows whose largest logit is the label's.
struct LossTotals {
  double loss = 0, correct = 0;
};

template <typename T>
float largest(const T* x, int64_t classes) {
  float most = static_cast<float>(x[0]);
#pragma omp simd reduction(max : most)
  for (int64_t c = 1; c < classes; ++c) {
    float value = static_cast<float>(x[c]);
    most = value > most ? value : most;
  }
  return most;
}

// log sum e^x, about the largest x.
template <typename T>
double log_sum_exp(const T* x, int64_t classes, float most) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < classes; ++c) sum += exponential(static_cast<float>(x[c]) - most);
  return static_cast<double>(most) + std::log(static_cast<double>(sum));
}

template <typename T>
double mean_of(const T* x, int64_t classes) {
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += static_cast<double>(static_cast<float>(x[c]));
  return sum / static_cast<double>(classes);
}

// The first largest logit is the label's.
template <typename T>
bool is_first_largest(const T* x, int64_t label, float most) {
  for (int64_t c = 0; c < label; ++c) {
    if (static_cast<float>(x[c]) == most) return false;
  }
  return static_cast<float>(x[label]) == most;
}

template <typename T>
class SoftmaxCrossEntropyCpuKernel : public Kernel {
 public:
  SoftmaxCrossEntropyCpuKernel(const SoftmaxCrossEntropyOp& op, const KernelRequest& request)
      : attributes_(op.attributes()),
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads) {}

  size_t workspace_bytes() const override {
    return sizeof(LossTotals) * static_cast<size_t>(threads_);
  }

  void run(const KernelArgs& args) override {
    auto partial = static_cast<LossTotals*>(args.workspace);
    std::fill_n(partial, threads_, LossTotals{});
    auto logits = static_cast<const T*>(args.inputs[0]);
    LabelTargets targets(attributes_, classes_, args.inputs, 2);
    auto logsumexp = static_cast<float*>(args.outputs[2]);
    parallel_for(threads_, rows_, grain, [&](int64_t begin, int64_t end, int chunk) {
      LossTotals totals;
      for (int64_t n = begin; n < end; ++n) {
        logsumexp[n] = add_row(logits + n * classes_, targets.of(n), totals);
      }
      partial[chunk] = totals;
    });
    write_totals(partial, args);
  }

 private:
  void write_totals(const LossTotals* partial, const KernelArgs& args) const {
    LossTotals sum;
    for (int chunk = 0; chunk < threads_; ++chunk) {
      sum.loss += partial[chunk].loss;
      sum.correct += partial[chunk].correct;
    }
    auto rows = static_cast<double>(attributes_.rows_per_sample);
    *static_cast<double*>(args.outputs[0]) = sum.loss / rows;
    *static_cast<double*>(args.outputs[1]) = sum.correct / rows;
  }

  // Adds one row to the totals and returns its logsumexp.
  float add_row(const T* x, const LabelTarget& target, LossTotals& totals) const {
    float most = largest(x, classes_);
    double total = log_sum_exp(x, classes_, most);
    if (target.count == 0) {  // a label that is no class, or a mix outside of [0, 1]
      totals.loss = std::numeric_limits<double>::quiet_NaN();
    } else {
      // loss = log sum e^x - sum over classes of target x, target = (1 - s) weight + s / classes
      double smoothing = static_cast<double>(attributes_.label_smoothing), expected = 0;
      for (int i = 0; i < target.count; ++i) {
        double weight = (1 - smoothing) * static_cast<double>(target.weights[i]);
        expected += weight * static_cast<double>(static_cast<float>(x[target.labels[i]]));
      }
      if (smoothing > 0) expected += smoothing * mean_of(x, classes_);
      totals.loss += total - expected;
      totals.correct += is_first_largest(x, target.heavier(), most);
    }
    return static_cast<float>(total);
  }

  SoftmaxCrossEntropyAttributes attributes_;
  int64_t rows_, classes_;
  int threads_;
};

template <typename T>
class SoftmaxCrossEntropyBackwardCpuKernel : public Kernel {
 public:
  SoftmaxCrossEntropyBackwardCpuKernel(const SoftmaxCrossEntropyBackwardOp& op,
                                       const KernelRequest& request)
      : attributes_(op.attributes()),
        rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto logits = static_cast<const T*>(args.inputs[0]);
    LabelTargets targets(attributes_, classes_, args.inputs, 3);
    auto logsumexp = static_cast<const float*>(args.inputs[2]);
    auto gradient = static_cast<T*>(args.outputs[0]);
    float scale =
        args.step->loss_gradient_scale() / static_cast<float>(attributes_.rows_per_sample);
    parallel_for(threads_, rows_, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        row(logits + n * classes_, targets.of(n), logsumexp[n], scale, gradient + n * classes_);
      }
    });
  }

 private:
  // The labels' elements are computed apart, before dx, which may be x, is written.
  void row(const T* x, const LabelTarget& target, float logsumexp, float scale, T* dx) const {
    float smoothing = attributes_.label_smoothing;
    float others = smoothing / static_cast<float>(classes_);
    float own[2] = {};
    for (int i = 0; i < target.count; ++i) {
      own[i] = exponential(static_cast<float>(x[target.labels[i]]) - logsumexp);
    }
    elementwise_range(
        0, classes_, dx, [=](float v) { return (exponential(v - logsumexp) - others) * scale; }, x);
    for (int i = 0; i < target.count; ++i) {
      float weight = (1 - smoothing) * target.weights[i];
      dx[target.labels[i]] = static_cast<T>((own[i] - weight - others) * scale);
    }
  }

  SoftmaxCrossEntropyAttributes attributes_;
  int64_t rows_, classes_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const SoftmaxCrossEntropyOp& op, const KernelRequest& request) {
  return make_typed<SoftmaxCrossEntropyCpuKernel>(request.inputs[0].dtype, op, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const SoftmaxCrossEntropyBackwardOp& op,
                                 const KernelRequest& request) {
  return make_typed<SoftmaxCrossEntropyBackwardCpuKernel>(request.inputs[0].dtype, op, request);
}

}  // namespace spire::inline kernels
