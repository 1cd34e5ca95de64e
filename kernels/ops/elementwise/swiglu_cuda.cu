// swiglu on a GPU: a thread takes a pack of gates and the pack of their values. All in fp32.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/elementwise/activation.h"
#include "kernels/ops/elementwise/elementwise.h"

namespace spire {

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

}  // namespace

template <>
Kernel make_cuda(const SwigluOp&, const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  return with_packs(request.inputs[0].dtype, y.back(), [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    return [n = y.elements() / N, packs = Divider(y.back() / N)](const KernelArgs& args) {
      launch(swiglu_kernel<N, T>, blocks_for(n, block_threads), block_threads, args.stream, n,
             packs, args.in<T>(0), args.out<T>(0));
    };
  });
}

template <>
Kernel make_cuda(const SwigluBackwardOp&, const KernelRequest& request) {
  const Shape& dy = request.inputs[0].shape;
  return with_packs(request.inputs[0].dtype, dy.back(), [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    return [n = dy.elements() / N, packs = Divider(dy.back() / N)](const KernelArgs& args) {
      launch(swiglu_backward_kernel<N, T>, blocks_for(n, block_threads), block_threads, args.stream,
             n, packs, args.in<T>(0), args.in<T>(1), args.out<T>(0));
    };
  });
}

}  // namespace spire
