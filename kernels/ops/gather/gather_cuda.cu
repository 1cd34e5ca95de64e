// Gather and embedding on a GPU. Forward: a thread copies a pack. Backward: the k, or positions,
// are sorted by index, then those of one index are summed in ascending order, without atomics.
#include <limits>

#include "kernels/cuda/segmented_sum.h"
#include "kernels/kernel.h"
#include "kernels/ops/gather/gather.h"

namespace spire {

namespace {

// A pack of y a thread. In packs of N: n of y, `inner` of a row.
template <int N, typename From, typename To>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(int64_t n, Divider inner, Divider taken, int64_t length, const From* x,
                  const int32_t* indices, To* y) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= n) return;
  auto [row, column] = inner.divide(i);
  auto [outer, k] = taken.divide(row);
  int32_t index = indices[k];
  Pack<To, N> pack;
  if (index >= 0 && index < length) {
    auto from = load_pack<N>(x + ((outer * length + index) * inner.divisor() + column) * N);
    for (int j = 0; j < N; ++j) pack.at[j] = To(from.at[j]);
  } else {
    for (To& value : pack.at) value = To(std::numeric_limits<float>::quiet_NaN());
  }
  store_pack(pack, y + i * N);
}

// x (outer, length, inner), y (outer, taken, inner).
template <typename From, typename To>
void gather_cuda(void* stream, const SegmentedSum& e, const From* x, const int32_t* indices,
                 To* y) {
  constexpr int most = smaller(pack_width<From>, pack_width<To>);
  int pack = rows_take_packs<most>(e.inner) ? most : 1;
  int64_t n = e.outer * e.taken * e.inner / pack;
  launch(pack == most ? gather_kernel<most, From, To> : gather_kernel<1, From, To>,
         blocks_for(n, block_threads), block_threads, stream, n, Divider(e.inner / pack),
         Divider(e.taken), e.length, x, indices, y);
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
  return cuda_kernel(request, [e]<typename T>(T, const KernelArgs& args) {
    gather_cuda(args.stream, e, args.in<T>(0), args.in<int32_t>(1), args.out<T>(0));
  });
}

template <>
Kernel make_cuda(const GatherBackwardOp& op, const KernelRequest& request) {
  auto e = gather_extents(request.outputs[0].shape, request.inputs[1].shape[0], op.axis());
  SortByKey order(e.taken, e.length);
  size_t bytes = order.workspace_bytes();
  return cuda_kernel(request, bytes, [e, order]<typename T>(T, const KernelArgs& args) {
    auto sorted = order.sort(args.stream, args.in<int32_t>(1), args.workspace);
    segmented_sum_cuda<T, T>(args.stream, e, sorted, args.in<T>(0), nullptr, args.out<T>(0));
  });
}

template <>
Kernel make_cuda(const EmbeddingOp&, const KernelRequest& request) {
  const Shape& table = request.inputs[1].shape;
  SegmentedSum e{1, request.inputs[0].shape.elements(), table[0], table[1]};
  return cuda_kernel(request.outputs[0].dtype, [e]<typename T>(T, const KernelArgs& args) {
    gather_cuda(args.stream, e, args.in<float>(1), args.in<int32_t>(0), args.out<T>(0));
  });
}

// Where dtable lies over the addend, only rows of ids that occur are read and written.
template <>
Kernel make_cuda(const EmbeddingBackwardOp&, const KernelRequest& request) {
  const Shape& table = request.outputs[0].shape;
  SegmentedSum e{1, request.inputs[1].shape.elements(), table[0], table[1]};
  SortByKey order(e.taken, e.length);
  return cuda_kernel(request, order.workspace_bytes(), [=]<typename T>(T, const KernelArgs& args) {
    auto sorted = order.sort(args.stream, args.in<int32_t>(1), args.workspace);
    segmented_sum_cuda(args.stream, e, sorted, args.in<T>(0),
                       args.inputs.size() == 3 ? args.in<float>(2) : nullptr, args.out<float>(0));
  });
}

}  // namespace spire
