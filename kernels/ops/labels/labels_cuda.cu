// Ops on class labels on a GPU. Of one-hot rows each element compares its column with the row's
// label, so each is written once. Exact matches: a thread a sample, as labels are few.
#include <limits>
#include <vector>

#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/labels/labels.h"

namespace spire {

namespace {

// A thread takes N elements anywhere, as a warp a row would idle where classes are few. Index
// counts elements: 32 bits where they suffice, as finding the row takes a division.
template <int N, typename T, typename Index>
__global__ void __launch_bounds__(block_threads)
    one_hot_kernel(Index n, Index classes, const int32_t* labels, T* out) {
  Index i = (static_cast<Index>(blockIdx.x) * block_threads + threadIdx.x) * N;
  if (i >= n) return;
  Index row = i / classes, c = i % classes;
  int32_t label = labels[row];
  bool valid = label >= 0 && static_cast<Index>(label) < classes;
  float rest = valid ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  Pack<T, N> pack;
  for (int k = 0; k < N; ++k)
    pack.at[k] = T(valid && static_cast<Index>(label) == c + k ? 1.0f : rest);
  store_pack(pack, out + i);
}

// Weights of so many classes are an argument of a kernel, which may have 4 KiB.
struct ClassWeights {
  static constexpr int64_t most = 512;
  int64_t first = 0, count = 0;  // classes
  float at[most] = {};
};

// A thread writes the weight of one row, if its label is among these classes.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    write_weights_kernel(const __grid_constant__ ClassWeights weights, int64_t rows,
                         int64_t classes, const int32_t* labels, T* out) {
  int64_t row = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row >= rows) return;
  int64_t c = labels[row] - weights.first;
  if (c >= 0 && c < weights.count) out[row * classes + labels[row]] = T(weights.at[c]);
}

template <typename T>
struct OneHotCuda {
  std::vector<float> weights;
  int64_t n, classes;

  void operator()(const KernelArgs& args) const {
    constexpr int N = pack_width<T>;
    rows_take_packs<N>(classes) ? write_rows<N>(args) : write_rows<1>(args);
    for (int64_t first = 0; first < std::ssize(weights); first += ClassWeights::most)
      write_weights(first, args);
  }

  template <int N>
  void write_rows(const KernelArgs& args) const {
    // No thread's first element may overflow the index.
    bool small = n < std::numeric_limits<int32_t>::max() - block_threads * N;
    auto start = [&]<typename Index>(Index) {
      launch(one_hot_kernel<N, T, Index>, blocks_for(n, block_threads * N), block_threads,
             args.stream, static_cast<Index>(n), static_cast<Index>(classes), args.in<int32_t>(0),
             args.out<T>(0));
    };
    small ? start(uint32_t{}) : start(uint64_t{});
  }

  void write_weights(int64_t first, const KernelArgs& args) const {
    ClassWeights some{.first = first};
    some.count = smaller(ClassWeights::most, std::ssize(weights) - first);
    for (int64_t i = 0; i < some.count; ++i) some.at[i] = weights[static_cast<size_t>(first + i)];
    int64_t rows = n / classes;
    launch(write_weights_kernel<T>, blocks_for(rows, block_threads), block_threads, args.stream,
           some, rows, classes, args.in<int32_t>(0), args.out<T>(0));
  }
};

template <typename T>
__global__ void __launch_bounds__(block_threads)
    exact_match_kernel(int64_t samples, int64_t count, const T* __restrict__ outputs,
                       const float* __restrict__ labels, float* __restrict__ matches) {
  int64_t n = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n < samples) matches[n] = exact_match(outputs + n * count, labels + n * count, count);
}

}  // namespace

template <>
Kernel make_cuda(const OneHotOp& op, const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  return with_any_float_type(request.outputs[0].dtype, [&](auto type) -> Kernel {
    return OneHotCuda<decltype(type)>{op.attributes().weights, y.elements(), y[1]};
  });
}

template <>
Kernel make_cuda(const ExactMatchOp&, const KernelRequest& request) {
  int64_t samples = request.inputs[0].shape[0], labels = request.inputs[0].shape[1];
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    launch(exact_match_kernel<T>, blocks_for(samples, block_threads), block_threads, args.stream,
           samples, labels, args.in<T>(0), args.in<float>(1), args.out<float>(0));
  });
}

}  // namespace spire
