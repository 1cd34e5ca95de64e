// Channels are contiguous and go a register at a time.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct BiasExtents {
  int64_t rows, channels;
  int threads;
};

BiasExtents extents_of(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  return {shape.elements() / shape.back(), shape.back(), request.threads};
}

template <typename T>
class BiasCpuKernel : public Kernel {
 public:
  explicit BiasCpuKernel(BiasExtents extents) : e_(extents) {}
  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto b = static_cast<const float*>(args.inputs[1]);
    auto y = static_cast<T*>(args.outputs[0]);
    parallel_for(e_.threads, e_.rows, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        over_lanes(e_.channels, [&](int64_t c, auto count) {
          int64_t at = row * e_.channels + c;
          store_floats(load_floats(x + at, count) + load_floats(b + c, count), y + at, count);
        });
      }
    });
  }

 private:
  BiasExtents e_;
};

template <typename T>
class BiasBackwardCpuKernel : public Kernel {
 public:
  explicit BiasBackwardCpuKernel(BiasExtents extents)
      : e_(extents), chunk_rows_(std::max<int64_t>(64, (e_.rows + 63) / 64)) {}

  // Sums of the chunks: (chunks, C) fp32.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(chunks() * e_.channels) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    auto dy = static_cast<const T*>(args.inputs[0]);
    auto db = static_cast<float*>(args.outputs[0]);
    auto sums = static_cast<float*>(args.workspace);
    if (chunks() == 1) return add_few_rows(dy, db);
    parallel_for(e_.threads, chunks(), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t first = chunk * chunk_rows_, rows = std::min(chunk_rows_, e_.rows - first);
        add_rows(dy + first * e_.channels, rows, sums + chunk * e_.channels);
      }
    });
    add_rows(sums, chunks(), db);
  }

 private:
  int64_t chunks() const { return (e_.rows + chunk_rows_ - 1) / chunk_rows_; }

  // Threads share the channels, of which there may be many: a parameter of a sample's whole shape.
  void add_few_rows(const T* dy, float* db) const {
    parallel_for(e_.threads, e_.channels, 256, [&](int64_t begin, int64_t end, int) {
      add_rows(dy + begin, e_.rows, db + begin, end - begin);
    });
  }

  template <typename U>
  void add_rows(const U* from, int64_t rows, float* sum) const {
    add_rows(from, rows, sum, e_.channels);
  }

  template <typename U>
  void add_rows(const U* from, int64_t rows, float* sum, int64_t channels) const {
    over_lanes(channels, [&](int64_t c, auto count) {
      FloatLanes lanes{};
      for (int64_t row = 0; row < rows; ++row) {
        lanes += load_floats(from + row * e_.channels + c, count);
      }
      store_floats(lanes, sum + c, count);
    });
  }

  BiasExtents e_;
  int64_t chunk_rows_;  // at most 64 chunks of at least 64 rows
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const BiasOp&, const KernelRequest& request) {
  return make_typed<BiasCpuKernel>(request.inputs[0].dtype, extents_of(request));
}

template <>
std::unique_ptr<Kernel> make_cpu(const BiasBackwardOp&, const KernelRequest& request) {
  return make_typed<BiasBackwardCpuKernel>(request.inputs[0].dtype, extents_of(request));
}

}  // namespace spire::inline kernels
