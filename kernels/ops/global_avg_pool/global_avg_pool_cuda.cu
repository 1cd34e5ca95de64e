// A block averages a few packs of channels of one sample: its threads share the pixels, and their
// sums are added in pairs. Backward: a thread writes a pack.
#include "kernels/cuda/pixels.h"
#include "kernels/ops/global_avg_pool/global_avg_pool.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

constexpr int threads = 256;
constexpr int64_t max_packs = 32;  // a block's

struct GlobalAvgPoolGrid {
  int64_t samples, pixels, channels;
};

// Thread t takes pack t % packs and every (threads / packs)-th pixel. packs: a power of 2.
template <int N, typename T>
__global__ void __launch_bounds__(threads)
    global_average_kernel(GlobalAvgPoolGrid e, Divider blocks_a_sample, int packs, const T* x,
                          T* y) {
  __shared__ float sums[N][threads];
  auto thread = static_cast<int>(threadIdx.x);
  auto [sample, part] = blocks_a_sample.divide(blockIdx.x);
  int64_t channel = (part * packs + thread % packs) * N;
  float sum[N] = {};
  if (channel < e.channels) {
    for (int64_t p = thread / packs; p < e.pixels; p += threads / packs) {
      auto pack = load_pack<N>(x + (sample * e.pixels + p) * e.channels + channel);
      for (int k = 0; k < N; ++k) sum[k] += static_cast<float>(pack.at[k]);
    }
  }
  for (int k = 0; k < N; ++k) sums[k][thread] = sum[k];
  for (int half = threads / 2; half >= packs; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
    for (int k = 0; k < N; ++k) sums[k][thread] += sums[k][thread + half];
  }
  if (thread >= packs || channel >= e.channels) return;
  auto pixels = static_cast<float>(e.pixels);
  Pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = T(sums[k][thread] / pixels);
  store_pack(result, y + sample * e.channels + channel);
}

template <int N, typename T>
__global__ void __launch_bounds__(pixel_threads)
    global_average_backward_kernel(PixelGrid grid, float pixels, int64_t channels, const T* dy,
                                   T* dx) {
  if (!grid.has(pixel_thread())) return;
  Pixel pixel = grid.pixel(pixel_thread());
  auto pack = load_pack<N>(dy + pixel.sample * channels + pixel.channel);
  for (T& value : pack.at) value = T(static_cast<float>(value) / pixels);
  store_pack(pack, dx + pixel.at);
}

template <typename T>
class GlobalAvgPoolCudaKernel : public Kernel {
 public:
  explicit GlobalAvgPoolCudaKernel(const Shape& x) : e_{x[0], x[1] * x[2], x[3]} {}
  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    rows_take_packs<N>(e_.channels) ? average<N>(args) : average<1>(args);
  }

 private:
  template <int N>
  void average(const KernelArgs& args) const {
    int64_t packs = 1;
    while (packs < max_packs && packs * N < e_.channels) packs *= 2;
    Divider blocks_a_sample((e_.channels + packs * N - 1) / (packs * N));
    launch(global_average_kernel<N, T>,
           static_cast<unsigned>(e_.samples * blocks_a_sample.divisor()), threads, args.stream, e_,
           blocks_a_sample, static_cast<int>(packs), static_cast<const T*>(args.inputs[0]),
           static_cast<T*>(args.outputs[0]));
  }

  GlobalAvgPoolGrid e_;
};

template <typename T>
class GlobalAvgPoolBackwardCudaKernel : public Kernel {
 public:
  explicit GlobalAvgPoolBackwardCudaKernel(const Shape& x) : x_(x) {}
  void run(const KernelArgs& args) override {
    constexpr int N = pack_width<T>;
    rows_take_packs<N>(x_[3]) ? spread<N>(args) : spread<1>(args);
  }

 private:
  template <int N>
  void spread(const KernelArgs& args) const {
    PixelGrid grid(x_, N);
    launch(global_average_backward_kernel<N, T>, grid.blocks(), pixel_threads, args.stream, grid,
           static_cast<float>(x_[1] * x_[2]), x_[3], static_cast<const T*>(args.inputs[0]),
           static_cast<T*>(args.outputs[0]));
  }

  Shape x_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const GlobalAvgPoolOp&, const KernelRequest& request) {
  return make_typed_cuda<GlobalAvgPoolCudaKernel>(request.inputs[0].dtype, request.inputs[0].shape);
}

template <>
std::unique_ptr<Kernel> make_cuda(const GlobalAvgPoolBackwardOp&, const KernelRequest& request) {
  return make_typed_cuda<GlobalAvgPoolBackwardCudaKernel>(request.inputs[0].dtype,
                                                          request.outputs[0].shape);
}

}  // namespace spire::inline kernels
