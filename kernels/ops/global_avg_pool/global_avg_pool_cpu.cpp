// One sample a turn; its channels are contiguous and go a register at a time.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/global_avg_pool/global_avg_pool.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct GlobalAvgPoolExtents {
  int64_t samples, pixels, channels;
  int threads;
};

template <typename T>
class GlobalAvgPoolCpuKernel : public Kernel {
 public:
  explicit GlobalAvgPoolCpuKernel(GlobalAvgPoolExtents extents) : e_(extents) {}
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

  GlobalAvgPoolExtents e_;
};

template <typename T>
class GlobalAvgPoolBackwardCpuKernel : public Kernel {
 public:
  explicit GlobalAvgPoolBackwardCpuKernel(GlobalAvgPoolExtents extents) : e_(extents) {}
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

  GlobalAvgPoolExtents e_;
};

GlobalAvgPoolExtents extents_of(const TensorSpec& x, int threads) {
  return {x.shape[0], x.shape[1] * x.shape[2], x.shape[3], threads};
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const GlobalAvgPoolOp&, const KernelRequest& request) {
  GlobalAvgPoolExtents extents = extents_of(request.inputs[0], request.threads);
  return make_typed<GlobalAvgPoolCpuKernel>(request.inputs[0].dtype, extents);
}

template <>
std::unique_ptr<Kernel> make_cpu(const GlobalAvgPoolBackwardOp&, const KernelRequest& request) {
  GlobalAvgPoolExtents extents = extents_of(request.outputs[0], request.threads);
  return make_typed<GlobalAvgPoolBackwardCpuKernel>(request.inputs[0].dtype, extents);
}

}  // namespace spire::inline kernels
