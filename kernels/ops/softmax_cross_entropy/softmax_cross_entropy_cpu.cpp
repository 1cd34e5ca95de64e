// Softmax cross entropy on the CPU. A thread takes whole rows and reads each of them once for the
// largest logit and the sum of exponentials about it, in fp32, and again for its gradient. Losses
// are summed in fp64, a partial sum a thread, in the threads' order.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/elementary.h"
#include "kernels/kernel.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace spire {

namespace {

constexpr int64_t cross_entropy_grain = 16;  // rows

// Sums over rows: of losses, and of rows whose largest logit is the label's.
struct LossTotals {
  double loss = 0, correct = 0;

  void operator+=(const LossTotals& other) {
    loss += other.loss;
    correct += other.correct;
  }
};

// Computes the weights of samples into `weights`, the memory of a SampleWeights.
void weigh_samples(const SoftmaxCrossEntropyAttributes& attributes, const LabelTargets& targets,
                   int64_t rows, int threads, double* weights) {
  if (!attributes.unlabelled) return;
  int64_t per_sample = attributes.rows_per_sample;
  parallel_for(threads, rows / per_sample, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t n = begin; n < end; ++n) {
      int64_t labelled = 0;
      for (int64_t row = n * per_sample; row < (n + 1) * per_sample; ++row)
        labelled += targets.is_unlabelled(row) ? 0 : 1;
      auto count = static_cast<double>(labelled);
      weights[n] = labelled > 0 ? static_cast<double>(per_sample) / count : 0;
    }
  });
}

constexpr float infinity = std::numeric_limits<float>::infinity();

// The largest logit of a row so far, and the sum of exponentials about it, each lane for its own
// columns. Where a larger logit appears, the sum is rescaled (Milakov & Gimelshein, "Online
// normalizer calculation for softmax", 2018).
class OnlineSum {
 public:
  static constexpr int64_t prefetched = 1024;  // elements ahead

  template <typename T>
  OnlineSum(const T* x, int64_t count) {
    constexpr int registers = 16;
    int64_t c = 0;
    for (; c + registers * lane_count <= count; c += registers * lane_count) add<registers>(x + c);
    over_lanes(count - c, [&](int64_t i, auto lanes) { add<1>(x + c + i, lanes); });
  }

  float most() const { return largest_of(most_); }

  double log_sum() const {  // log sum e^x of all logits
    float most = this->most();
    float sum = sum_of(sum_ * factor(most_, FloatLanes{} + most));
    return static_cast<double>(most) + std::log(static_cast<double>(sum));
  }

 private:
  // Adds whole registers, or the first `count` lanes of one.
  template <int registers, typename T>
  void add(const T* x, int count = lane_count) {
    FloatLanes values[registers], most = most_;
    for (int i = 0; i < registers; ++i) {
      __builtin_prefetch(x + i * lane_count + prefetched);
      values[i] = load_floats(x + i * lane_count, count);
      if (count < lane_count) values[i] = first_lanes(values[i], count, -infinity);
      most = larger(most, values[i]);
    }
    sum_ *= factor(most_, most);
    most_ = most;
    FloatLanes base = most == -infinity ? FloatLanes{} : most;
    for (const FloatLanes& value : values) sum_ += exponential(value - base);
  }

  // A lane that has seen nothing but -inf contributes nothing.
  static FloatLanes factor(const FloatLanes& from, const FloatLanes& to) {
    return from == -infinity ? FloatLanes{} : exponential(from - to);
  }

  FloatLanes most_ = FloatLanes{} - infinity, sum_ = {};
};

template <typename T>
double mean_of(const T* x, int64_t classes) {
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += static_cast<double>(static_cast<float>(x[c]));
  return sum / static_cast<double>(classes);
}

// The first largest logit is the label's.
template <typename T>
bool is_first_largest(const T* x, int64_t label, float most) {
  if (static_cast<float>(x[label]) != most) return false;
  for (int64_t c = 0; c < label; ++c) {
    if (static_cast<float>(x[c]) == most) return false;
  }
  return true;
}

// Returns the number of elements before the next cache line.
template <typename T>
int64_t elements_to_line(const T* at) {
  constexpr uintptr_t line = 64;
  return static_cast<int64_t>((line - reinterpret_cast<uintptr_t>(at) % line) % line / sizeof(T));
}

template <typename T>
struct SoftmaxCrossEntropyCpu {
  SoftmaxCrossEntropyAttributes attributes;
  int64_t rows, classes;
  int threads;

  void operator()(const KernelArgs& args) const {
    auto partial = args.scratch<LossTotals>();
    auto logits = args.in<T>(0);
    LabelTargets targets(attributes, classes, args.inputs);
    auto* of_samples = reinterpret_cast<double*>(partial + threads);
    weigh_samples(attributes, targets, rows, threads, of_samples);
    SampleWeights weights(attributes, of_samples);
    T* gradient = attributes.gradient ? args.out<T>(0) : nullptr;
    float scale = gradient ? attributes.weight * (args.step->loss_gradient_scale() /
                                                  static_cast<float>(attributes.rows_per_sample))
                           : 0;
    auto add_rows = [&](int64_t begin, int64_t end) {
      LossTotals totals;
      for (int64_t n = begin; n < end; ++n) {
        const T* x = logits + n * classes;
        LabelTarget target = targets.of(n);
        if (target.unlabelled) {
          if (gradient) std::fill_n(gradient + n * classes, classes, T(0.0f));
          continue;
        }
        double weight = weights.of(n);
        float logsumexp = add_row(x, target, weight, totals);
        if (gradient)
          write_gradient(x, target, logsumexp, scale * static_cast<float>(weight),
                         gradient + n * classes);
      }
      return totals;
    };
    LossTotals sum = sum_chunks(partial, threads, rows, cross_entropy_grain, add_rows);
    auto per_sample = static_cast<double>(attributes.rows_per_sample);
    size_t loss = attributes.gradient ? 1 : 0;
    *args.out<double>(loss) = static_cast<double>(attributes.weight) * (sum.loss / per_sample);
    *args.out<double>(loss + 1) = sum.correct / per_sample;
  }

  // Adds one row to the totals and returns its logsumexp.
  float add_row(const T* x, const LabelTarget& target, double weight, LossTotals& totals) const {
    OnlineSum sum(x, classes);
    double total = sum.log_sum();
    if (target.count == 0) {  // a label that is no class, or a mix outside of [0, 1]
      totals.loss = std::numeric_limits<double>::quiet_NaN();
    } else {
      // loss = log sum e^x - sum over classes of target x, target = (1 - s) weight + s / classes
      double smoothing = static_cast<double>(attributes.label_smoothing), expected = 0;
      for (int i = 0; i < target.count; ++i) {
        double share = (1 - smoothing) * static_cast<double>(target.weights[i]);
        expected += share * static_cast<double>(static_cast<float>(x[target.labels[i]]));
      }
      if (smoothing > 0) expected += smoothing * mean_of(x, classes);
      double loss = total - expected;
      if (attributes.z_loss > 0) loss += static_cast<double>(attributes.z_loss) * total * total;
      totals.loss += weight * loss;
      totals.correct += is_first_largest(x, target.heavier(), sum.most()) ? weight : 0;
    }
    return static_cast<float>(total);
  }

  // The labels' elements are computed apart, before dx, which may be x, is written.
  void write_gradient(const T* x, const LabelTarget& target, float logsumexp, float scale,
                      T* dx) const {
    float smoothing = attributes.label_smoothing;
    float others = smoothing / static_cast<float>(classes);
    float factor = attributes.probability_factor(logsumexp);
    float own[2] = {};
    for (int i = 0; i < target.count; ++i) {
      own[i] = factor * exponential(static_cast<float>(x[target.labels[i]]) - logsumexp);
    }
    auto f = [=](auto v) { return (factor * exponential(v - logsumexp) - others) * scale; };
    // Rows of odd widths begin anywhere: whole registers are stored from a cache line's begin on.
    int64_t before = std::min(classes, elements_to_line(dx));
    elementwise_range(0, before, dx, f, x);
    elementwise_range(before, classes, dx, f, x);
    for (int i = 0; i < target.count; ++i) {
      float weight = (1 - smoothing) * target.weights[i];
      dx[target.labels[i]] = static_cast<T>((own[i] - weight - others) * scale);
    }
  }
};

}  // namespace

template <>
Kernel make_cpu(const SoftmaxCrossEntropyOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    int64_t rows = request.inputs[0].shape[0], classes = request.inputs[0].shape[1];
    return Kernel(
        SoftmaxCrossEntropyCpu<decltype(type)>{op.attributes(), rows, classes, request.threads},
        sizeof(LossTotals) * static_cast<size_t>(request.threads) +
            SampleWeights::bytes(op.attributes(), rows));
  });
}

}  // namespace spire
