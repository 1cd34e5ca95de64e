// Exact products on a GPU: a block computes a tile of 16 x 16 results in fp64. Operands are
// gathered from fp32 tensors, and rounded to their grids, as they are loaded into shared memory.
// Flags: each block sets that of its largest element, and blocks that write one write the same
// number. Rounded gradients: a thread an entry.
#include "engine/device/cuda_kernel.h"
#include "kernels/exact_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_product/exact_product.h"

namespace spire {

namespace {

// Returns that of elements [begin, end) to thread 0; all threads of the block call it.
template <int threads>
__device__ int largest_exponent(const float* __restrict__ x, int64_t begin, int64_t end) {
  int largest = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += threads) {
    int exponent = exponent_of(x[i]);
    largest = exponent > largest ? exponent : largest;
  }
  return block_reduce<threads>(largest, Maximum{});
}

constexpr int side = 16;  // of a tile

// exponents[b] = that of the largest magnitude among the `size` elements of part b.
__global__ void __launch_bounds__(block_threads)
    largest_exponent_kernel(int64_t size, const float* __restrict__ x, int* exponents) {
  int largest = largest_exponent<block_threads>(x + blockIdx.x * size, 0, size);
  if (threadIdx.x == 0) exponents[blockIdx.x] = largest;
}

// exponents[i] = that which tensor i's flags tell. One thread a tensor.
__global__ void read_flags_kernel(const double* __restrict__ flags, int* exponents) {
  exponents[threadIdx.x] = highest_exponent(flags + threadIdx.x * exponent_count);
}

// An element of a matrix of patches, on the grid of its sample, or of all samples.
struct PatchElements {
  Patches patches;
  const float* x;
  const int* exponents;
  bool by_sample;
  int bits;

  __device__ double operator()(int64_t row, int64_t column) const {
    int64_t n = row / patches.rows_per_sample();
    int64_t pixel = patches.pixel(row % patches.rows_per_sample(), column / patches.channels);
    if (pixel < 0) return 0;
    float value =
        x[n * patches.sample_size() + pixel * patches.channels + column % patches.channels];
    return Grid(exponents[by_sample ? n : 0], bits)(value);
  }
};

struct Transposed {
  PatchElements patches;
  __device__ double operator()(int64_t row, int64_t column) const { return patches(column, row); }
};

struct FilterElements {
  FilterIndex index;
  const float* w;
  const int* exponent;
  int bits;

  __device__ double operator()(int64_t row, int64_t column) const {
    return Grid(*exponent, bits)(w[index(row, column)]);
  }
};

struct RowElements {  // of a dense matrix
  const float* x;
  int64_t columns;
  const int* exponent;
  int bits;

  __device__ double operator()(int64_t row, int64_t column) const {
    return Grid(*exponent, bits)(x[row * columns + column]);
  }
};

struct RoundedWithBias {
  float* y;
  const float* bias;
  int64_t columns;

  __device__ void operator()(int64_t row, int64_t column, double sum) const {
    y[row * columns + column] =
        static_cast<float>(bias ? sum + static_cast<double>(bias[column]) : sum);
  }
};

struct AsItIs {
  double* y;
  int64_t columns;

  __device__ void operator()(int64_t row, int64_t column, double sum) const {
    y[row * columns + column] = sum;
  }
};

// write(i, j, sum over k of a(i, k) b(k, j)) for i < m, j < n.
template <typename A, typename B, typename Write>
__global__ void __launch_bounds__(block_threads)
    exact_product_kernel(int64_t m, int64_t n, int64_t k, A a, B b, Write write) {
  __shared__ double of_a[side][side + 1], of_b[side][side + 1];
  int64_t across = (n + side - 1) / side;
  int row = static_cast<int>(threadIdx.x) / side, column = static_cast<int>(threadIdx.x) % side;
  int64_t i = blockIdx.x / across * side + row, j = blockIdx.x % across * side + column;
  double sum = 0;
  for (int64_t first = 0; first < k; first += side) {
    of_a[row][column] = i < m && first + column < k ? a(i, first + column) : 0;
    of_b[row][column] = j < n && first + row < k ? b(first + row, j) : 0;
    __syncthreads();
    for (int p = 0; p < side; ++p) sum += of_a[row][p] * of_b[p][column];
    __syncthreads();
  }
  if (i < m && j < n) write(i, j, sum);
}

template <typename A, typename B, typename Write>
void multiply(void* stream, int64_t m, int64_t n, int64_t k, A a, B b, Write write) {
  int64_t tiles = (m + side - 1) / side * ((n + side - 1) / side);
  launch(exact_product_kernel<A, B, Write>, blocks_for(tiles, 1), block_threads, stream, m, n, k, a,
         b, write);
}

// db[o] = the sum of column o of dy, on its grid.
__global__ void __launch_bounds__(block_threads)
    exact_column_sums_kernel(int64_t rows, int64_t columns, const float* __restrict__ dy,
                             const int* exponent, int bits, double* db) {
  Grid grid(*exponent, bits);
  double sum = 0;
  for (int64_t row = threadIdx.x; row < rows; row += block_threads)
    sum += grid(dy[row * columns + blockIdx.x]);
  sum = block_reduce<block_threads>(sum, Sum{});
  if (threadIdx.x == 0) db[blockIdx.x] = sum;
}

// Patches times filters: the forward pass and, transposed, the data gradient.
Kernel exact_product_cuda(const ExactProductAttributes& a, bool transposed,
                          const KernelRequest& request) {
  Shape in = as_image(request.inputs[0].shape), out = as_image(request.outputs[0].shape);
  Shape filter = as_filter(request.inputs[1].shape);
  Patches patches = patches_of(a, in, out, filter, transposed);
  FilterIndex index = filter_index(filter, transposed);
  int64_t samples = in[0], results = out[3];
  bool has_bias = a.bias && !transposed;
  auto run = [=](const KernelArgs& args) {
    auto x = args.in<float>(0), w = args.in<float>(1),
         bias = has_bias ? args.in<float>(2) : nullptr;
    auto exponents = args.scratch<int>();
    int64_t columns = patches.columns();
    launch(largest_exponent_kernel, static_cast<unsigned>(samples), block_threads, args.stream,
           patches.sample_size(), x, exponents);
    launch(largest_exponent_kernel, 1u, block_threads, args.stream, columns * results, w,
           exponents + samples);
    int bits = product_bits(columns);
    multiply(args.stream, samples * patches.rows_per_sample(), results, columns,
             PatchElements{patches, x, exponents, true, bits},
             FilterElements{index, w, exponents + samples, bits},
             RoundedWithBias{args.out<float>(0), bias, results});
  };
  return Kernel(run, static_cast<size_t>(samples + 1) * sizeof(int));
}

constexpr int64_t per_block = 16 * block_threads;

__global__ void __launch_bounds__(block_threads) clear_flags_kernel(double* flags) {
  flags[blockIdx.x * exponent_count + threadIdx.x] = 0;
}

__global__ void __launch_bounds__(block_threads)
    set_flags_kernel(int64_t n, const float* __restrict__ x, double* flags) {
  int64_t begin = int64_t{blockIdx.x} * per_block, end = begin + per_block;
  end = end < n ? end : n;
  int largest = largest_exponent<block_threads>(x, begin, end);
  if (threadIdx.x == 0) flags[largest] = 1;
}

__global__ void __launch_bounds__(block_threads)
    exact_gradient_kernel(ExactGradient gradient, int64_t count, int64_t biases,
                          const double* __restrict__ total, const StepContext* step,
                          float* __restrict__ dw, float* __restrict__ db) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  bool first = step->first_row == 0;
  int64_t row = i / gradient.outputs, o = i % gradient.outputs;
  if (i < count) dw[gradient.index(row, o)] = first ? gradient.weight(total, row, o) : 0.0f;
  if (i < biases) db[i] = first ? gradient.bias(total, i) : 0.0f;
}

}  // namespace

template <>
Kernel make_cuda(const ExactProductOp& op, const KernelRequest& request) {
  return exact_product_cuda(op.attributes(), false, request);
}

template <>
Kernel make_cuda(const ExactProductBackwardDataOp& op, const KernelRequest& request) {
  return exact_product_cuda(op.attributes(), true, request);
}

// Patches, transposed, times dy, and the sums of dy.
template <>
Kernel make_cuda(const ExactProductBackwardWeightsOp& op, const KernelRequest& request) {
  const ExactProductAttributes& a = op.attributes();
  const Shape& shape = request.inputs[1].shape;
  Patches patches = patches_of(a, as_image(request.inputs[0].shape), as_image(shape),
                               as_filter(op.filter()), false);
  int64_t outputs = shape.back(), rows = shape.elements() / outputs;
  int64_t length = a.global_batch * patches.rows_per_sample();
  auto run = [=, bias = a.bias](const KernelArgs& args) {
    auto x = args.in<float>(0), dy = args.in<float>(1);
    auto dw = args.out<double>(0);
    auto exponents = args.scratch<int>();
    launch(read_flags_kernel, 1u, 2u, args.stream, args.in<double>(2), exponents);
    int bits = product_bits(length);
    multiply(args.stream, patches.columns(), outputs, rows,
             Transposed{{patches, x, exponents, false, bits}},
             RowElements{dy, outputs, exponents + 1, bits}, AsItIs{dw, outputs});
    if (!bias) return;
    launch(exact_column_sums_kernel, static_cast<unsigned>(outputs), block_threads, args.stream,
           rows, outputs, dy, exponents + 1, term_bits(length), dw + patches.columns() * outputs);
  };
  return Kernel(run, 2 * sizeof(int));
}

template <>
Kernel make_cuda(const ExactRangeOp&, const KernelRequest& request) {
  static_assert(block_threads == exponent_count);
  std::vector<int64_t> counts;
  for (const TensorSpec& input : request.inputs) counts.push_back(input.shape.elements());
  return [counts](const KernelArgs& args) {
    auto flags = args.out<double>(0);
    launch(clear_flags_kernel, static_cast<unsigned>(counts.size()), block_threads, args.stream,
           flags);
    for (size_t i = 0; i < counts.size(); ++i, flags += exponent_count)
      launch(set_flags_kernel, blocks_for(counts[i], per_block), block_threads, args.stream,
             counts[i], args.in<float>(i), flags);
  };
}

template <>
Kernel make_cuda(const ExactGradientOp& op, const KernelRequest&) {
  ExactGradient gradient = exact_gradient(op.weights());
  int64_t count = op.weights().elements();  // there are at least as many weights as biases
  return [=, biases = op.bias() ? gradient.outputs : 0](const KernelArgs& args) {
    launch(exact_gradient_kernel, blocks_for(count, block_threads), block_threads, args.stream,
           gradient, count, biases, args.in<double>(0), args.step, args.out<float>(0),
           biases > 0 ? args.out<float>(1) : nullptr);
  };
}

}  // namespace spire
