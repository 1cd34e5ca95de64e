// Gather on a GPU. Forward: a thread copies a pack. Backward: the k are sorted by index, then
// those of one index are summed in ascending order, without atomics.
#include <limits>

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/segmented_sum.h"
#include "kernels/kernel.h"
#include "kernels/ops/gather/gather.h"

namespace spire {

namespace {

// A pack of y a thread. In packs of N: n of y, `inner` of a row.
template <int N, typename T>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(int64_t n, Divider inner, Divider taken, int64_t length, const T* x,
                  const int32_t* indices, T* y) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= n) return;
  auto [row, column] = inner.divide(i);
  auto [outer, k] = taken.divide(row);
  int32_t index = indices[k];
  Pack<T, N> pack;
  if (index >= 0 && index < length) {
    pack = load_pack<N>(x + ((outer * length + index) * inner.divisor() + column) * N);
  } else {
    for (T& value : pack.at) value = T(std::numeric_limits<float>::quiet_NaN());
  }
  store_pack(pack, y + i * N);
}

// (outer, length, inner) of the tensor that is indexed; the other is (outer, taken, inner).
SegmentedSum gather_extents(const Shape& indexed, int64_t taken, int axis) {
  SegmentedSum e{1, taken, indexed[axis], 1};
  for (int i = 0; i < indexed.rank(); ++i)
    if (i != axis) (i < axis ? e.outer : e.inner) *= indexed[i];
  return e;
}

}  // namespace

template <>
Kernel make_cuda(const GatherOp& op, const KernelRequest& request) {
  auto e = gather_extents(request.inputs[0].shape, request.inputs[1].shape[0], op.axis());
  return with_packs(request.inputs[0].dtype, e.inner, [&](auto type, auto pack) -> Kernel {
    using T = decltype(type);
    constexpr int N = pack();
    return [e, n = e.outer * e.taken * e.inner / N](const KernelArgs& args) {
      launch(gather_kernel<N, T>, blocks_for(n, block_threads), block_threads, args.stream, n,
             Divider(e.inner / N), Divider(e.taken), e.length, args.in<T>(0), args.in<int32_t>(1),
             args.out<T>(0));
    };
  });
}

template <>
Kernel make_cuda(const GatherBackwardOp& op, const KernelRequest& request) {
  auto e = gather_extents(request.outputs[0].shape, request.inputs[1].shape[0], op.axis());
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) {
    using T = decltype(type);
    SortByKey order(e.taken, e.length);
    auto run = [e, order](const KernelArgs& args) {
      auto sorted = order.sort(args.stream, args.in<int32_t>(1), args.workspace);
      segmented_sum_cuda<T, T>(args.stream, e, sorted, args.in<T>(0), nullptr, args.out<T>(0));
    };
    return Kernel(run, order.workspace_bytes());
  });
}

}  // namespace spire
