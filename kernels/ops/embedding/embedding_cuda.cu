// Embedding on a GPU. Forward: a thread copies a pack of a row. Backward: positions are sorted by
// id, then the rows of one id are summed in the order of their positions, without atomics.
#include <limits>

#include "kernels/cuda/segmented_sum.h"
#include "kernels/kernel.h"
#include "kernels/ops/embedding/embedding.h"

namespace spire {

namespace {

// A pack of y a thread. In packs of N: n of y, `width` of a row.
template <int N, typename T>
__global__ void __launch_bounds__(block_threads)
    embedding_kernel(int64_t n, Divider width, int64_t vocabulary, const int32_t* ids,
                     const float* table, T* y) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= n) return;
  auto [position, column] = width.divide(i);
  int64_t id = ids[position];
  Pack<T, N> pack;
  if (id >= 0 && id < vocabulary) {
    auto row = load_pack<N>(table + (id * width.divisor() + column) * N);
    for (int k = 0; k < N; ++k) pack.at[k] = T(row.at[k]);
  } else {
    for (T& value : pack.at) value = T(std::numeric_limits<float>::quiet_NaN());
  }
  store_pack(pack, y + i * N);
}

}  // namespace

template <>
Kernel make_cuda(const EmbeddingOp&, const KernelRequest& request) {
  return with_any_float_type(request.outputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    int64_t places = request.inputs[0].shape.elements();
    int64_t vocabulary = request.inputs[1].shape[0], width = request.inputs[1].shape[1];
    constexpr int most = pack_width<float>;  // of the table's elements
    int pack = rows_take_packs<most>(width) ? most : 1;
    return [=, n = places * width / pack](const KernelArgs& args) {
      launch(pack == most ? embedding_kernel<most, T> : embedding_kernel<1, T>,
             blocks_for(n, block_threads), block_threads, args.stream, n, Divider(width / pack),
             vocabulary, args.in<int32_t>(0), args.in<float>(1), args.out<T>(0));
    };
  });
}

// Where dtable lies over the addend, only rows of ids that occur are read and written.
template <>
Kernel make_cuda(const EmbeddingBackwardOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) {
    using T = decltype(type);
    const Shape& table = request.outputs[0].shape;
    SegmentedSum e{1, request.inputs[1].shape.elements(), table[0], table[1]};
    SortByKey order(e.taken, e.length);
    auto run = [=](const KernelArgs& args) {
      auto sorted = order.sort(args.stream, args.in<int32_t>(1), args.workspace);
      segmented_sum_cuda(args.stream, e, sorted, args.in<T>(0),
                         args.inputs.size() == 3 ? args.in<float>(2) : nullptr, args.out<float>(0));
    };
    return Kernel(run, order.workspace_bytes());
  });
}

}  // namespace spire
