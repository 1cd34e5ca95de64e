#include <cmath>
#include <limits>

#include <spire/kernels/elementary.h>
#include <spire/kernels/elementwise_cpu.h>
#include <spire/kernels/float_type.h>
#include <spire/kernels/parallel.h>
#include <spire/kernels/softmax_cross_entropy.h>

namespace spire {

namespace {

constexpr int64_t grain = 16;  // rows

struct Totals {
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
class ForwardKernel : public Kernel {
 public:
  ForwardKernel(const SoftmaxCrossEntropyOp& op, const KernelRequest& request)
      : rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads),
        smoothing_(static_cast<double>(op.attributes().label_smoothing)) {}

  size_t workspace_bytes() const override { return sizeof(Totals) * static_cast<size_t>(threads_); }

  void run(const KernelArgs& args) override {
    auto partial = static_cast<Totals*>(args.workspace);
    std::fill_n(partial, threads_, Totals{});
    auto logits = static_cast<const T*>(args.inputs[0]);
    auto labels = static_cast<const int32_t*>(args.inputs[1]);
    auto logsumexp = static_cast<float*>(args.outputs[2]);
    parallel_for(threads_, rows_, grain, [&](int64_t begin, int64_t end, int chunk) {
      Totals totals;
      for (int64_t n = begin; n < end; ++n) {
        logsumexp[n] = add_row(logits + n * classes_, labels[n], totals);
      }
      partial[chunk] = totals;
    });
    Totals sum;
    for (int chunk = 0; chunk < threads_; ++chunk) {
      sum.loss += partial[chunk].loss;
      sum.correct += partial[chunk].correct;
    }
    *static_cast<double*>(args.outputs[0]) = sum.loss;
    *static_cast<double*>(args.outputs[1]) = sum.correct;
  }

 private:
  // Adds one row to the totals and returns its logsumexp.
  float add_row(const T* x, int32_t label, Totals& totals) const {
    float most = largest(x, classes_);
    double total = log_sum_exp(x, classes_, most);
    if (label < 0 || label >= classes_) {
      totals.loss = std::numeric_limits<double>::quiet_NaN();
    } else {
      double target = (1 - smoothing_) * static_cast<double>(static_cast<float>(x[label]));
      if (smoothing_ > 0) target += smoothing_ * mean_of(x, classes_);
      totals.loss += total - target;
      totals.correct += is_first_largest(x, label, most);
    }
    return static_cast<float>(total);
  }

  int64_t rows_, classes_;
  int threads_;
  double smoothing_;
};

template <typename T>
class BackwardKernel : public Kernel {
 public:
  BackwardKernel(const SoftmaxCrossEntropyBackwardOp& op, const KernelRequest& request)
      : rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        threads_(request.threads),
        smoothing_(op.attributes().label_smoothing) {}

  void run(const KernelArgs& args) override {
    auto logits = static_cast<const T*>(args.inputs[0]);
    auto labels = static_cast<const int32_t*>(args.inputs[1]);
    auto logsumexp = static_cast<const float*>(args.inputs[2]);
    auto gradient = static_cast<T*>(args.outputs[0]);
    parallel_for(threads_, rows_, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        row(logits + n * classes_, labels[n], logsumexp[n], args.step->gradient_scale,
            gradient + n * classes_);
      }
    });
  }

 private:
  // The label's element is computed apart, before dx, which may be x, is written.
  void row(const T* x, int32_t label, float logsumexp, float scale, T* dx) const {
    float others = smoothing_ / static_cast<float>(classes_);
    bool valid = label >= 0 && label < classes_;
    float own = valid ? exponential(static_cast<float>(x[label]) - logsumexp) : 0;
    elementwise_range(
        0, classes_, dx, [=](float v) { return (exponential(v - logsumexp) - others) * scale; }, x);
    if (valid) dx[label] = static_cast<T>((own - (1 - smoothing_) - others) * scale);
  }

  int64_t rows_, classes_;
  int threads_;
  float smoothing_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const Op& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<ForwardKernel<decltype(type)>>(
        static_cast<const SoftmaxCrossEntropyOp&>(op), request);
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_backward_cpu(const Op& op,
                                                                const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<BackwardKernel<decltype(type)>>(
        static_cast<const SoftmaxCrossEntropyBackwardOp&>(op), request);
  });
}

}  // namespace spire
