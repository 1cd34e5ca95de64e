// One sample a turn; its channels are contiguous and go a register at a time.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/global_avg_pool/global_avg_pool.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct Extents {
  int64_t samples, pixels, channels;
  int threads;
};

template <typename T>
class GlobalAvgPoolKernel : public Kernel {
 public:
  explicit GlobalAvgPoolKernel(Extents extents) : e_(extents) {}
  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    parallel_for(e_.threads, e_.samples, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        average(x + n * e_.pixels * e_.channels, y + n * e_.channels);
      }
    });
  }

 private:
  void average(const T* x, T* y) const {
    auto pixels = static_cast<float>(e_.pixels);
    over_lanes(e_.channels, [&](int64_t c, auto count) {
      FloatLanes sum{};
      for (int64_t p = 0; p < e_.pixels; ++p) sum += load_floats(x + p * e_.channels + c, count);
      store_floats(sum / pixels, y + c, count);
    });
  }

  Extents e_;
};

template <typename T>
class GlobalAvgPoolBackwardKernel : public Kernel {
 public:
  explicit GlobalAvgPoolBackwardKernel(Extents extents) : e_(extents) {}
  void run(const KernelArgs& args) override {
    auto dy = static_cast<const T*>(args.inputs[0]);
    auto dx = static_cast<T*>(args.outputs[0]);
    parallel_for(e_.threads, e_.samples, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        spread(dy + n * e_.channels, dx + n * e_.pixels * e_.channels);
      }
    });
  }

 private:
  void spread(const T* dy, T* dx) const {
    auto pixels = static_cast<float>(e_.pixels);
    over_lanes(e_.channels, [&](int64_t c, auto count) {
      FloatLanes share = load_floats(dy + c, count) / pixels;
      for (int64_t p = 0; p < e_.pixels; ++p) store_floats(share, dx + p * e_.channels + c, count);
    });
  }

  Extents e_;
};

Extents extents_of(const TensorSpec& x, int threads) {
  return {x.shape[0], x.shape[1] * x.shape[2], x.shape[3], threads};
}

}  // namespace

std::unique_ptr<Kernel> make_global_avg_pool_cpu(const Op&, const KernelRequest& request) {
  Extents extents = extents_of(request.inputs[0], request.threads);
  return make_cpu_kernel<GlobalAvgPoolKernel>(request.inputs[0].dtype, extents);
}

std::unique_ptr<Kernel> make_global_avg_pool_backward_cpu(const Op&, const KernelRequest& request) {
  Extents extents = extents_of(request.outputs[0], request.threads);
  return make_cpu_kernel<GlobalAvgPoolBackwardKernel>(request.inputs[0].dtype, extents);
}

}  // namespace spire::inline kernels
