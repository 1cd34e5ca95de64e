// Gather on a GPU. Forward: a thread copies a pack. Backward: the k are sorted by index, then
// those of one index are summed in ascending order, without atomics.
#include <limits>

#include "kernels/cuda/segmented_sum.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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

template <typename T>
class GatherCudaKernel : public Kernel {
 public:
  explicit GatherCudaKernel(const SegmentedSum& extents) : e_(extents) {}

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    rows_take_packs<N>(e_.inner) ? gather<N>(args) : gather<1>(args);
  }

 private:
  template <int N>
  void gather(const KernelArgs& args) const {
    int64_t n = e_.outer * e_.taken * e_.inner / N;
    launch(gather_kernel<N, T>, blocks_for(n, block_threads), block_threads, args.stream, n,
           Divider(e_.inner / N), Divider(e_.taken), e_.length,
           static_cast<const T*>(args.inputs[0]), static_cast<const int32_t*>(args.inputs[1]),
           static_cast<T*>(args.outputs[0]));
  }

  SegmentedSum e_;
};

template <typename T>
class GatherBackwardCudaKernel : public Kernel {
 public:
  explicit GatherBackwardCudaKernel(const SegmentedSum& extents)
      : e_(extents), order_(extents.taken, extents.length) {}

  size_t workspace_bytes() const override { return order_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    auto sorted =
        order_.sort(args.stream, static_cast<const int32_t*>(args.inputs[1]), args.workspace);
    segmented_sum_cuda<T, T>(args.stream, e_, sorted, static_cast<const T*>(args.inputs[0]),
                             nullptr, static_cast<T*>(args.outputs[0]));
  }

 private:
  SegmentedSum e_;
  SortByKey order_;
};

template <template <typename> class K>
std::unique_ptr<Kernel> make_gather(const SegmentedSum& extents, DType dtype) {
  return make_typed_cuda<K>(dtype, extents);
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const GatherOp& op, const KernelRequest& request) {
  int axis = op.axis();
  return make_gather<GatherCudaKernel>(
      gather_extents(request.inputs[0].shape, request.inputs[1].shape[0], axis),
      request.inputs[0].dtype);
}

template <>
std::unique_ptr<Kernel> make_cuda(const GatherBackwardOp& op, const KernelRequest& request) {
  int axis = op.axis();
  return make_gather<GatherBackwardCudaKernel>(
      gather_extents(request.outputs[0].shape, request.inputs[1].shape[0], axis),
      request.inputs[0].dtype);
}

}  // namespace spire::inline kernels
