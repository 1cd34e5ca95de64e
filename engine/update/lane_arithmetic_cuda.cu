// Sums gradients on a GPU with the CPU's additions in the same order, so with the same bits.
#include "engine/device/cuda_kernel.h"
#include "engine/update/lane_arithmetic.h"

namespace spire {
namespace {

constexpr int threads = 256;
constexpr int pack = pack_width<float>;
constexpr int max_depth = LaneArithmetic::max_depth;

// A tree in the form of a kernel argument, which may have 32 KiB; most trees fit in the small form.
template <int leaves>
struct Terms {
  TreeSum::Term at[leaves];
  int count = 0;
};
constexpr int few_leaves = 64, many_leaves = LaneArithmetic::max_gpu_leaves;
static_assert(sizeof(Terms<many_leaves>) < 32000);

bool takes_packs(const float* memory) {
  return reinterpret_cast<uintptr_t>(memory) % (pack * sizeof(float)) == 0;
}

template <int N>
__device__ inline void add_pack(Pack<float, N>& into, const Pack<float, N>& from) {
  for (int i = 0; i < N; ++i) into.at[i] += from.at[i];
}

__device__ inline double sum_of(double left, double right) {
  return left + right;
}
template <int N>
__device__ inline Pack<float, N> sum_of(Pack<float, N> left, const Pack<float, N>& right) {
  add_pack(left, right);
  return left;
}

// The stack of a tree's sum (TreeSum::Term), `depth` entries at most. A push or an addition moves
// all entries, so that every index is a constant: the stack lies in registers, not in local memory.
template <typename Entry, int depth>
class SumStack {
 public:
  __device__ void push(const Entry& entry) {
#pragma unroll
    for (int k = depth - 1; k > 0; --k) at_[k] = at_[k - 1];
    at_[0] = entry;
  }
  __device__ void add_top_two() {
    at_[0] = sum_of(at_[1], at_[0]);
#pragma unroll
    for (int k = 1; k < depth - 1; ++k) at_[k] = at_[k + 1];
  }
  __device__ const Entry& top() const {
    return at_[0];
  }

 private:
  Entry at_[depth] = {};
};

// Adds floats [0, n), N a thread.
template <int N>
__global__ void __launch_bounds__(threads) add_kernel(int64_t n, float* into, const float* from) {
  int64_t first = (int64_t{blockIdx.x} * threads + threadIdx.x) * N;
  if (first + N > n) return;
  auto sum = load_pack<N>(into + first);
  add_pack<N>(sum, load_pack<N>(from + first));
  store_pack(sum, into + first);
}

// to[i] = from[i], rounded by `Through` on the way.
template <typename Through, typename From, typename To>
__global__ void __launch_bounds__(threads) convert_kernel(int64_t n, const From* from, To* to) {
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < n) to[i] = To(static_cast<float>(Through(static_cast<float>(from[i]))));
}

// A gradient is read once, often from another GPU's memory: the load keeps no place in the cache.
template <int N>
__device__ inline Pack<float, N> load_once(const float* from) {
  if constexpr (N == pack) {
    float4 four = __ldcs(reinterpret_cast<const float4*>(from));
    return {{four.x, four.y, four.z, four.w}};
  } else {
    static_assert(N == 1);
    return {{__ldcs(from)}};
  }
}

// Floats [begin, begin + n) of the tree, N a thread.
template <int leaves, int N, int depth>
__global__ void __launch_bounds__(threads)
    sum_kernel(const __grid_constant__ Terms<leaves> terms, int64_t begin, int64_t n, float* out) {
  int64_t first = (int64_t{blockIdx.x} * threads + threadIdx.x) * N;
  if (first + N > n) return;
  first += begin;
  SumStack<Pack<float, N>, depth> stack;
#pragma unroll 1
  for (int i = 0; i < terms.count; ++i) {
    const TreeSum::Term& term = terms.at[i];
    stack.push(load_once<N>(term.data + (first - term.first)));
#pragma unroll 1
    for (int addition = 0; addition < term.additions; ++addition) stack.add_top_two();
  }
  store_pack(stack.top(), out + first);
}

// Chooses the kernel by depth: shallow trees, which are the common ones, need few registers.
template <int leaves, int N>
auto sum_kernel_for(int depth) {
  if (depth <= 4) return sum_kernel<leaves, N, 4>;
  return depth <= 8 ? sum_kernel<leaves, N, 8> : sum_kernel<leaves, N, max_depth>;
}

// A block a chunk. Which thread squares what, and so the order, is a matter of the place in the
// chunk alone; squares are exact in fp64.
__global__ void __launch_bounds__(threads)
    square_kernel(const float* values, FloatRange range, bool packs, double* squares) {
  int64_t first = range.begin + blockIdx.x * TreeSum::chunk;
  int64_t left = range.end - first, count = left < TreeSum::chunk ? left : TreeSum::chunk;
  values += first;
  double sum = 0;
  for (int64_t i = threadIdx.x * pack; i < count; i += threads * pack) {
    if (packs && i + pack <= count) {
      auto four = load_pack<pack>(values + i);
      for (float value : four.at) sum += double{value} * value;
    } else {
      for (int64_t j = i; j < i + pack && j < count; ++j) sum += double{values[j]} * values[j];
    }
  }
  sum = block_reduce<threads>(sum, Sum{});
  if (threadIdx.x == 0) squares[first / TreeSum::chunk] = sum;
}

// Sums one column a thread.
__global__ void __launch_bounds__(threads)
    sum_rows_kernel(const double* rows, int towers, int64_t count, double* out) {
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  SumStack<double, max_depth> stack;
  for (int tower = 0; tower < towers; ++tower) {
    stack.push(rows[tower * count + i]);
    for (int a = additions_after(tower, towers); a > 0; --a) stack.add_top_two();
  }
  out[i] = stack.top();
}

class CudaArithmetic : public LaneArithmetic {
 public:
  explicit CudaArithmetic(void* stream) : stream_(stream) {}

  void add(float* into, const float* from, FloatRange range) override {
    bool packs = takes_packs(into + range.begin) && takes_packs(from + range.begin);
    in_packs(range, packs, [&](auto width, FloatRange part) {
      constexpr int N = decltype(width)::value;
      launch(add_kernel<N>, blocks_for(part.size(), N * threads), threads, stream_, part.size(),
             into + part.begin, from + part.begin);
    });
  }

  void round(float* values, FloatRange range) override {
    convert<bfloat16>(range.size(), values + range.begin, values + range.begin);
  }
  void narrow(const float* from, int64_t count, bfloat16* to) override {
    convert<float>(count, from, to);
  }
  void widen(const bfloat16* from, int64_t count, float* to) override {
    convert<float>(count, from, to);
  }

  void sum(const TreeSum& tree, FloatRange range, float* out) override {
    expect_gpu_tree(tree);
    if (tree.terms().size() <= few_leaves)
      sum_terms<few_leaves>(tree, range, out);
    else
      sum_terms<many_leaves>(tree, range, out);
  }

  void square(const float* values, FloatRange range, double* squares) override {
    if (range.size() == 0) return;
    launch(square_kernel, blocks_for(range.size(), TreeSum::chunk), threads, stream_, values, range,
           takes_packs(values + range.begin), squares);
  }

  void sum_rows(const double* rows, int towers, int64_t count, double* out) override {
    launch(sum_rows_kernel, blocks_for(count, threads), threads, stream_, rows, towers, count, out);
  }

 private:
  template <typename Through, typename From, typename To>
  void convert(int64_t count, const From* from, To* to) {
    if (count > 0)
      launch(convert_kernel<Through, From, To>, blocks_for(count, threads), threads, stream_, count,
             from, to);
  }
  template <int leaves>
  void sum_terms(const TreeSum& tree, FloatRange range, float* out) {
    Terms<leaves> terms;
    for (const TreeSum::Term& term : tree.terms()) terms.at[terms.count++] = term;
    if (terms.count == 1 && terms.at[0].data - terms.at[0].first == out) return;
    bool packs = takes_packs(out + range.begin);
    for (const TreeSum::Term& term : tree.terms())
      packs &= takes_packs(term.data + (range.begin - term.first));
    in_packs(range, packs, [&](auto width, FloatRange part) {
      constexpr int N = decltype(width)::value;
      launch(sum_kernel_for<leaves, N>(tree.depth()), blocks_for(part.size(), N * threads), threads,
             stream_, terms, part.begin, part.size(), out);
    });
  }

  // body(width, part) with parts of the range: packs of floats as far as they go, then single ones.
  template <typename Body>
  static void in_packs(FloatRange range, bool packs, const Body& body) {
    int64_t cut = packs ? range.end - range.size() % pack : range.begin;
    if (cut > range.begin) body(std::integral_constant<int, pack>{}, FloatRange{range.begin, cut});
    if (range.end > cut) body(std::integral_constant<int, 1>{}, FloatRange{cut, range.end});
  }

  void* stream_;
};

}  // namespace

// A kernel is loaded when it first runs, and a load may wait for the device, under a lock of the
// process (CUDA C++ Programming Guide, "Lazy Loading"). The thread that exchanges buckets would
// then wait for an NCCL kernel that waits for one of another thread, which wants that lock.
std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(int index, void* stream) {
  CurrentCudaDevice current(index);
  load_kernels(add_kernel<pack>, add_kernel<1>, square_kernel, sum_rows_kernel,
               convert_kernel<bfloat16, float, float>, convert_kernel<float, float, bfloat16>,
               convert_kernel<float, bfloat16, float>);
  for (int depth : {4, 8, max_depth})
    load_kernels(sum_kernel_for<few_leaves, pack>(depth), sum_kernel_for<few_leaves, 1>(depth),
                 sum_kernel_for<many_leaves, pack>(depth), sum_kernel_for<many_leaves, 1>(depth));
  return std::make_unique<CudaArithmetic>(stream);
}

}  // namespace spire
