// Embedding on a GPU. Forward: a thread copies a pack of a row. Backward: positions are sorted by
// id, then the rows of one id are summed in the order of their positions, without atomics.
#include <limits>

#include "kernels/cuda/segmented_sum.h"
#include "kernels/ops/embedding/embedding.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

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

template <typename T>
class EmbeddingCudaKernel : public Kernel {
 public:
  explicit EmbeddingCudaKernel(const KernelRequest& request)
      : positions_(request.inputs[0].shape.elements()),
        vocabulary_(request.inputs[1].shape[0]),
        width_(request.inputs[1].shape[1]) {}

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<float>;
    rows_take_packs<N>(width_) ? embed<N>(args) : embed<1>(args);
  }

 private:
  template <int N>
  void embed(const KernelArgs& args) const {
    int64_t n = positions_ * width_ / N;
    launch(embedding_kernel<N, T>, blocks_for(n, block_threads), block_threads, args.stream, n,
           Divider(width_ / N), vocabulary_, static_cast<const int32_t*>(args.inputs[0]),
           static_cast<const float*>(args.inputs[1]), static_cast<T*>(args.outputs[0]));
  }

  int64_t positions_, vocabulary_, width_;
};

// Where dtable lies over the addend, only rows of ids that occur are read and written.
template <typename T>
class EmbeddingBackwardCudaKernel : public Kernel {
 public:
  explicit EmbeddingBackwardCudaKernel(const KernelRequest& request)
      : e_{1, request.inputs[1].shape.elements(), request.outputs[0].shape[0],
           request.outputs[0].shape[1]},
        order_(e_.taken, e_.length) {}

  size_t workspace_bytes() const override { return order_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    auto sorted =
        order_.sort(args.stream, static_cast<const int32_t*>(args.inputs[1]), args.workspace);
    const void* addend = args.inputs.size() == 3 ? args.inputs[2] : nullptr;
    segmented_sum_cuda(args.stream, e_, sorted, static_cast<const T*>(args.inputs[0]),
                       static_cast<const float*>(addend), static_cast<float*>(args.outputs[0]));
  }

 private:
  SegmentedSum e_;
  SortByKey order_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const EmbeddingOp&, const KernelRequest& request) {
  return make_typed_cuda<EmbeddingCudaKernel>(request.outputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const EmbeddingBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<EmbeddingBackwardCudaKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
