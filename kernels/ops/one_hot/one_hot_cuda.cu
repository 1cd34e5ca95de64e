// One-hot rows on a GPU. Each element compares its column with the row's label, so each is written
// once.
#include <limits>

#include "engine/device/cuda_kernel.h"
#include "kernels/ops/one_hot/one_hot.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int threads = 256;

// A thread takes N elements anywhere, as a warp a row would idle where classes are few. Index
// counts elements: 32 bits where they suffice, as finding the row takes a division.
template <int N, typename T, typename Index>
__global__ void __launch_bounds__(threads)
    one_hot_kernel(Index n, Index classes, const int32_t* labels, T* out) {
  Index i = (static_cast<Index>(blockIdx.x) * threads + threadIdx.x) * N;
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

template <typename T>
class OneHotCudaKernel : public Kernel {
 public:
  explicit OneHotCudaKernel(const KernelRequest& request)
      : n_(request.outputs[0].shape.elements()), classes_(request.outputs[0].shape[1]) {}

  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    if (rows_take_packs<N>(classes_)) return run<N>(args);
    run<1>(args);
  }

 private:
  template <int N>
  void run(const KernelArgs& args) const {
    // No thread's first element may overflow the index.
    bool small = n_ < std::numeric_limits<int32_t>::max() - threads * N;
    auto start = [&](auto index) {
      using Index = decltype(index);
      launch(one_hot_kernel<N, T, Index>, blocks_for(n_, threads * N), threads, args.stream,
             static_cast<Index>(n_), static_cast<Index>(classes_),
             static_cast<const int32_t*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    };
    small ? start(uint32_t{}) : start(uint64_t{});
  }

  int64_t n_, classes_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const OneHotOp&, const KernelRequest& request) {
  return make_typed_cuda<OneHotCudaKernel>(request.outputs[0].dtype, request);
}

}  // namespace spire::inline kernels
