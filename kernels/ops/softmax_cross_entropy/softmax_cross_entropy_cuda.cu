// Softmax cross entropy on a GPU, in two kernels. The first reads the logits: each thread keeps the
// largest so far and the sum of exponentials about it, and its row's threads combine theirs. Where
// it makes the gradient, they then read the row again, mostly from the L2 cache: dx_c = (e^(x_c -
// logsumexp) - t_c) * scale. The second adds the rows' losses in fp64, by one block in a fixed
// order.
#include <limits>

#include "kernels/kernel.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy_cuda.h"

namespace spire {

namespace {

constexpr int totals_threads = 512;

// Reduces over a row's threads; all of them get the result.
template <int group, typename V, typename Combine>
__device__ V group_reduce(V value, Combine combine) {
  if constexpr (group == warp_threads) {
    return warp_reduce(value, combine);
  } else {
    return block_reduce<group>(value, combine);
  }
}

struct Smallest {
  __device__ int operator()(int a, int b) const { return a < b ? a : b; }
};

constexpr float lowest = -std::numeric_limits<float>::infinity();

// Returns the number that is subtracted from exponents. Not -infinity, as the difference would be
// NaN.
__device__ inline float base_of(float most) {
  return most == lowest ? 0.0f : most;
}

// Online softmax of the logits that a thread has seen, in the order of their classes.
struct LogitsSeen {
  float most = lowest, sum = 0;                 // sum of e^(x - most)
  int first = std::numeric_limits<int>::max();  // class of the first that is `most`
  double total = 0;                             // sum of x

  template <int n, int N>
  __device__ void add(const float (&x)[n][N], int c, int step) {
    float peak = lowest;
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < N; ++i) peak = x[k][i] > peak ? x[k][i] : peak;
    if (peak > most) {
      sum *= exponential(most - peak);
      most = peak;
      for (int j = n * N - 1; j >= 0; --j)
        if (x[j / N][j % N] == peak) first = c + j / N * step + j % N;
    }
    // A batch is summed by itself first, which loses less than adding each term to a large sum.
    float base = base_of(most), part = 0;
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < N; ++i) part += exponential(x[k][i] - base);
    sum += part;
  }
  template <int n, int N>
  __device__ void add_total(const float (&x)[n][N]) {
    float part = 0;
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < N; ++i) part += x[k][i];
    total += static_cast<double>(part);
  }
};

// Writes a row's loss and whether it is correct to losses (2, rows). By the row's first thread.
template <typename T>
__device__ void write_row(const T* x, const LogitRows& e, int64_t row, const LabelTarget& target,
                          float smoothing, float z_loss, double row_weight, const LogitsSeen& all,
                          double lse, double* losses) {
  double expected = 0, s = static_cast<double>(smoothing);
  for (int i = 0; i < 2; ++i) {
    if (i >= target.count) continue;
    double weight = (1 - s) * static_cast<double>(target.weights[i]);
    expected += weight * static_cast<double>(static_cast<float>(x[target.labels[i]]));
  }
  if (smoothing > 0) expected += s * (all.total / static_cast<double>(e.classes));
  bool valid = target.count > 0;
  double loss = lse - expected;
  if (z_loss > 0) loss += static_cast<double>(z_loss) * lse * lse;
  if (!valid) loss = std::numeric_limits<double>::quiet_NaN();
  losses[row] = target.unlabelled ? 0 : row_weight * loss;
  losses[e.rows + row] = valid && target.heavier() == all.first ? row_weight : 0;
}

// Writes the gradient of a row, of which `pitch` elements are there; zeros fill those behind the
// classes. dx may be x: a thread writes only what it alone has read.
template <int group, int N, typename T>
__device__ void write_gradient(const T* x, int64_t classes, const LabelTarget& target,
                               const SoftmaxCrossEntropyAttributes& attributes, float scale,
                               float lse, int64_t pitch, T* dx) {
  int32_t labels[2];  // -1: none
  float weights[2];
  for (int t = 0; t < 2; ++t) {
    labels[t] = t < target.count ? target.labels[t] : -1;
    weights[t] = (1 - attributes.label_smoothing) * target.weights[t];
  }
  float factor = attributes.probability_factor(lse);
  // t_c = weights[t] at the labels, on top of `others` everywhere.
  float others = attributes.label_smoothing / static_cast<float>(classes);
  auto differentiate = [&](int64_t c, auto n, auto width, int64_t step) {
    constexpr int W = width();
    float values[n()][W];
    load_floats(x + c, step, values);
    for (int k = 0; k < n(); ++k) {
      for (int i = 0; i < W; ++i) values[k][i] = factor * exponential(values[k][i] - lse);
      for (int t = 0; t < 2; ++t) {
        int64_t at = labels[t] - (c + k * step);
        for (int i = 0; i < W; ++i)
          if (at == i) values[k][i] -= weights[t];
      }
      Pack<T, W> pack;
      // 0 times an infinite logit would not be 0.
      for (int i = 0; i < W; ++i)
        pack.at[i] = T(target.unlabelled ? 0.0f : (values[k][i] - others) * scale);
      store_pack(pack, dx + c + k * step);
    }
  };
  over_classes<group, N, logit_batch<N, 1>>(classes, differentiate);
  for (int64_t c = classes + threadIdx.x % group; c < pitch; c += group) dx[c] = T(0.0f);
}

// context: read for the gradient alone, whose rows begin `dx_pitch` elements apart.
template <bool gradient, int group, int N, typename T>
__global__ void __launch_bounds__(logit_threads)
    softmax_cross_entropy_kernel(LogitRows e, const T* logits, LabelTargets targets,
                                 SoftmaxCrossEntropyAttributes attributes, SampleWeights weights,
                                 const StepContext* __restrict__ context,
                                 double* __restrict__ losses, int64_t dx_pitch, T* dx) {
  const float smoothing = attributes.label_smoothing;
  int64_t row = logit_row<group>();
  if (row >= e.rows) return;  // the same for all threads of a warp
  const T* x = logits + row * e.pitch;
  LogitsSeen seen;
  auto add = [&](int64_t c, auto n, auto width, int64_t step) {
    float values[n()][width()];
    load_floats(x + c, step, values);
    seen.add(values, static_cast<int>(c), static_cast<int>(step));
    if (smoothing > 0) seen.add_total(values);
  };
  over_classes<group, N, logit_batch<N, 2>>(e.classes, add);
  // The row's threads combine theirs, each sum rescaled to the largest of all.
  LogitsSeen all;
  all.most = group_reduce<group>(seen.most, Maximum{});
  all.sum = group_reduce<group>(seen.sum * exponential(seen.most - base_of(all.most)), Sum{});
  constexpr int none = std::numeric_limits<int>::max();
  all.first = group_reduce<group>(seen.most == all.most ? seen.first : none, Smallest{});
  if (smoothing > 0) all.total = group_reduce<group>(seen.total, Sum{});
  LabelTarget target = targets.of(row);
  double lse = static_cast<double>(all.most) + log(static_cast<double>(all.sum));
  if (threadIdx.x % group == 0)
    write_row(x, e, row, target, smoothing, attributes.z_loss, weights.of(row), all, lse, losses);
  if constexpr (gradient) {
    // The first thread has read the labels' logits before others overwrite them.
    if constexpr (group == warp_threads) {
      __syncwarp();
    } else {
      __syncthreads();
    }
    float scale = context->loss_gradient_scale() / static_cast<float>(attributes.rows_per_sample);
    scale *= attributes.weight * static_cast<float>(weights.of(row));
    write_gradient<group, N>(x, e.classes, target, attributes, scale, static_cast<float>(lse),
                             dx_pitch, dx + row * dx_pitch);
  }
}

// Adds the rows' losses in a fixed order, by one block.
__global__ void __launch_bounds__(totals_threads)
    softmax_cross_entropy_totals_kernel(int64_t rows, double rows_per_sample, double weight,
                                        const double* __restrict__ losses, double* loss,
                                        double* correct) {
  double sums[2] = {};
  for (int k = 0; k < 2; ++k) {
    in_batches<4>(threadIdx.x, rows, totals_threads, [&](int64_t row, auto n) {
      double terms[n()];
      for (int i = 0; i < n(); ++i) terms[i] = losses[k * rows + row + i * totals_threads];
      for (int i = 0; i < n(); ++i) sums[k] += terms[i];
    });
    sums[k] = block_reduce<totals_threads>(sums[k], Sum{});
  }
  if (threadIdx.x != 0) return;
  *loss = weight * (sums[0] / rows_per_sample);
  *correct = sums[1] / rows_per_sample;
}

// Workspace: (2, rows): losses, and 1 for correct rows, both times the row's weight; the weights of
// samples.
template <bool gradient>
Kernel cross_entropy_cuda(const SoftmaxCrossEntropyAttributes& attributes,
                          const KernelRequest& request) {
  LogitRows e = logit_rows(request.inputs[0]);
  int64_t dx_pitch = gradient ? request.outputs[0].pitch() : e.pitch;
  size_t bytes =
      2 * static_cast<size_t>(e.rows) * sizeof(double) + SampleWeights::bytes(attributes, e.rows);
  return cuda_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto losses = args.scratch<double>(), of_samples = losses + 2 * e.rows;
    LabelTargets targets(attributes, e.classes, args.inputs);
    weigh_samples(attributes, targets, e.rows, args.stream, of_samples);
    auto launch_rows = [&]<int group, int N>() {
      launch(softmax_cross_entropy_kernel<gradient, group, N, T>,
             blocks_for(e.rows, logit_threads / group), logit_threads, args.stream, e,
             args.in<T>(0), targets, attributes, SampleWeights(attributes, of_samples), args.step,
             losses, dx_pitch, gradient ? args.out<T>(0) : nullptr);
    };
    with_layout<T>(e.classes, launch_rows, e.pitch, dx_pitch);
    constexpr size_t loss = gradient ? 1 : 0;
    launch(softmax_cross_entropy_totals_kernel, 1, totals_threads, args.stream, e.rows,
           static_cast<double>(attributes.rows_per_sample), static_cast<double>(attributes.weight),
           losses, args.out<double>(loss), args.out<double>(loss + 1));
  });
}

}  // namespace

template <>
Kernel make_cuda(const SoftmaxCrossEntropyOp& op, const KernelRequest& request) {
  return op.attributes().gradient ? cross_entropy_cuda<true>(op.attributes(), request)
                                  : cross_entropy_cuda<false>(op.attributes(), request);
}

}  // namespace spire
