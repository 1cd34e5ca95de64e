// Softmax cross entropy on a GPU, in two kernels. The first reads the logits once: each thread
// keeps the largest so far and the sum of exponentials about it, and its row's threads combine
// theirs. The second adds the rows' losses in fp64, by one block in a fixed order.
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

// Writes a row's loss and whether it is correct to losses (2, rows), and its logsumexp. By the
// row's first thread.
template <typename T>
__device__ void write_row(const T* x, const LogitRows& e, int64_t row, const LabelTarget& target,
                          float smoothing, float z_loss, double row_weight, const LogitsSeen& all,
                          double* losses, float* logsumexp) {
  double lse = static_cast<double>(all.most) + log(static_cast<double>(all.sum));
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
  logsumexp[row] = static_cast<float>(lse);
}

template <int group, int N, typename T>
__global__ void __launch_bounds__(logit_threads)
    softmax_cross_entropy_kernel(LogitRows e, const T* __restrict__ logits, LabelTargets targets,
                                 float smoothing, float z_loss, SampleWeights weights,
                                 double* __restrict__ losses, float* __restrict__ logsumexp) {
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
  if (threadIdx.x % group == 0)
    write_row(x, e, row, targets.of(row), smoothing, z_loss, weights.of(row), all, losses,
              logsumexp);
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

}  // namespace

// Workspace: (2, rows): losses, and 1 for correct rows, both times the row's weight; the weights of
// samples.
template <>
Kernel make_cuda(const SoftmaxCrossEntropyOp& op, const KernelRequest& request) {
  LogitRows e = logit_rows(request.inputs[0]);
  size_t bytes = 2 * static_cast<size_t>(e.rows) * sizeof(double) +
                 SampleWeights::bytes(op.attributes(), e.rows);
  auto attributes = op.attributes();
  return cuda_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto losses = args.scratch<double>(), of_samples = losses + 2 * e.rows;
    LabelTargets targets(attributes, e.classes, args.inputs, 2);
    weigh_samples(attributes, targets, e.rows, args.stream, of_samples);
    auto launch_rows = [&]<int group, int N>() {
      launch(softmax_cross_entropy_kernel<group, N, T>, blocks_for(e.rows, logit_threads / group),
             logit_threads, args.stream, e, args.in<T>(0), targets, attributes.label_smoothing,
             attributes.z_loss, SampleWeights(attributes, of_samples), losses, args.out<float>(2));
    };
    with_layout<T>(e.classes, launch_rows, e.pitch);
    launch(softmax_cross_entropy_totals_kernel, 1, totals_threads, args.stream, e.rows,
           static_cast<double>(attributes.rows_per_sample), static_cast<double>(attributes.weight),
           losses, args.out<double>(0), args.out<double>(1));
  });
}

}  // namespace spire
