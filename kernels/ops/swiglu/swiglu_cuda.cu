// swiglu on a GPU: a thread takes a pack of gates and the pack of their values. All in fp32.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/swiglu/swiglu.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

// A thread's pack, of y's packs: where its gates begin in x, in elements; its values lie `width`
// on.
template <int N>
__device__ int64_t gates_of(Divider packs, int64_t pack) {
  auto [row, column] = packs.divide(pack);
  return (2 * row * packs.divisor() + column) * N;
}

// packs: of a row of y; n: of y.
template <int N, typename T>
__global__ void __launch_bounds__(block_threads)
    swiglu_kernel(int64_t n, Divider packs, const T* x, T* y) {
  int64_t pack = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (pack >= n) return;
  int64_t at = gates_of<N>(packs, pack);
  auto gate = load_pack<N>(x + at), value = load_pack<N>(x + at + packs.divisor() * N);
  for (int i = 0; i < N; ++i)
    value.at[i] = T(Silu{}.value(static_cast<float>(gate.at[i])) * static_cast<float>(value.at[i]));
  store_pack(value, y + pack * N);
}

// dx may be x: a thread writes only elements that it alone has read.
template <int N, typename T>
__global__ void __launch_bounds__(block_threads)
    swiglu_backward_kernel(int64_t n, Divider packs, const T* dy, const T* x, T* dx) {
  int64_t pack = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (pack >= n) return;
  int64_t at = gates_of<N>(packs, pack), width = packs.divisor() * N;
  auto gate = load_pack<N>(x + at), value = load_pack<N>(x + at + width);
  auto own = load_pack<N>(dy + pack * N);
  for (int i = 0; i < N; ++i) {
    auto d = static_cast<float>(own.at[i]), g = static_cast<float>(gate.at[i]);
    gate.at[i] = T(Silu{}.gradient(d * static_cast<float>(value.at[i]), g));
    value.at[i] = T(d * Silu{}.value(g));
  }
  store_pack(gate, dx + at);
  store_pack(value, dx + at + width);
}

// Calls run.operator()<N>(n, packs): N elements a pack, n packs in y (M, F).
template <typename T, typename Run>
void with_packs(const Shape& y, const Run& run) {
  constexpr int N = pack_width<T>;
  if (rows_take_packs<N>(y.back()))
    return run.template operator()<N>(y.elements() / N, Divider(y.back() / N));
  run.template operator()<1>(y.elements(), Divider(y.back()));
}

template <typename T>
class SwigluCudaKernel : public Kernel {
 public:
  explicit SwigluCudaKernel(const KernelRequest& request) : y_(request.outputs[0].shape) {}

  void run(const KernelArgs& args) override {
    with_packs<T>(y_, [&]<int N>(int64_t n, Divider packs) {
      launch(swiglu_kernel<N, T>, blocks_for(n, block_threads), block_threads, args.stream, n,
             packs, static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Shape y_;
};

template <typename T>
class SwigluBackwardCudaKernel : public Kernel {
 public:
  explicit SwigluBackwardCudaKernel(const KernelRequest& request) : y_(request.inputs[0].shape) {}

  void run(const KernelArgs& args) override {
    with_packs<T>(y_, [&]<int N>(int64_t n, Divider packs) {
      launch(swiglu_backward_kernel<N, T>, blocks_for(n, block_threads), block_threads, args.stream,
             n, packs, static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]),
             static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Shape y_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const SwigluOp&, const KernelRequest& request) {
  return make_typed_cuda<SwigluCudaKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const SwigluBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<SwigluBackwardCudaKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
