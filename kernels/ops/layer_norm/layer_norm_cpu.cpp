// Layer normalization on the CPU. A row is read from memory once; later passes over it find it in
// the first-level cache. Backward: dgamma and dbeta are summed over chunks of rows that the shape
// alone fixes, then over the chunks in their order, so that the bits do not depend on the thread
// count. All in fp32.
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct LayerNormRows {
  int64_t rows, width;
  int threads;
};

LayerNormRows extents_of(const Shape& shape, int threads) {
  return {shape.elements() / shape.back(), shape.back(), threads};
}

template <typename T>
class LayerNormCpuKernel : public Kernel {
 public:
  LayerNormCpuKernel(float epsilon, const KernelRequest& request)
      : epsilon_(epsilon), e_(extents_of(request.inputs[0].shape, request.threads)) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    auto mean = static_cast<float*>(args.outputs[1]);
    auto rstd = static_cast<float*>(args.outputs[2]);
    parallel_for(e_.threads, e_.rows, 4, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = x + row * e_.width;
        mean[row] = mean_of(from);
        rstd[row] = rstd_of(from, mean[row]);
        normalize(from, mean[row], rstd[row], args, y + row * e_.width);
      }
    });
  }

 private:
  float mean_of(const T* x) const {
    auto value = [&](int64_t i, auto count) { return load_floats(x + i, count); };
    return sum_over(e_.width, value) / static_cast<float>(e_.width);
  }

  float rstd_of(const T* x, float mean) const {
    float squares = sum_over(e_.width, [&](int64_t i, auto count) {
      FloatLanes off = first_lanes(load_floats(x + i, count) - mean, count, 0);
      return off * off;
    });
    return 1.0f / std::sqrt(squares / static_cast<float>(e_.width) + epsilon_);
  }

  void normalize(const T* x, float mean, float rstd, const KernelArgs& args, T* y) const {
    auto gamma = static_cast<const float*>(args.inputs[1]);
    auto beta = static_cast<const float*>(args.inputs[2]);
    over_lanes(e_.width, [&](int64_t i, auto count) {
      FloatLanes xhat = (load_floats(x + i, count) - mean) * rstd;
      FloatLanes scaled = load_floats(gamma + i, count) * xhat + load_floats(beta + i, count);
      store_floats(scaled, y + i, count);
    });
  }

  float epsilon_;
  LayerNormRows e_;
};

template <typename T>
class LayerNormBackwardCpuKernel : public Kernel {
 public:
  explicit LayerNormBackwardCpuKernel(const KernelRequest& request)
      : e_(extents_of(request.inputs[1].shape, request.threads)), chunks_(e_.rows) {}

  // A chunk's sums of dy xhat and of dy: (chunks, 2, C) fp32.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(chunks_.chunks * 2 * e_.width) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    auto sums = static_cast<float*>(args.workspace);
    parallel_for(e_.threads, chunks_.chunks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t chunk = begin; chunk < end; ++chunk) add_chunk(args, chunk);
    });
    int64_t pitch = 2 * e_.width;
    add_up_chunks(chunks_, sums, pitch, e_.width, static_cast<float*>(args.outputs[1]));
    add_up_chunks(chunks_, sums + e_.width, pitch, e_.width, static_cast<float*>(args.outputs[2]));
  }

 private:
  struct LayerNormRow {
    const T *dy, *x;
    const float* gamma;
    float mean, rstd;
    T* dx;
  };

  void add_chunk(const KernelArgs& args, int64_t chunk) const {
    float* dgamma = static_cast<float*>(args.workspace) + chunk * 2 * e_.width;
    std::fill_n(dgamma, 2 * e_.width, 0.0f);
    for (int64_t row = chunks_.begin(chunk); row < chunks_.end(chunk); ++row) {
      int64_t at = row * e_.width;
      add_row(
          {static_cast<const T*>(args.inputs[0]) + at, static_cast<const T*>(args.inputs[1]) + at,
           static_cast<const float*>(args.inputs[2]),
           static_cast<const float*>(args.inputs[3])[row],
           static_cast<const float*>(args.inputs[4])[row], static_cast<T*>(args.outputs[0]) + at},
          dgamma, dgamma + e_.width);
    }
  }

  // dx may be dy or x: an element is written after its last read.
  void add_row(const LayerNormRow& r, float* dgamma, float* dbeta) const {
    auto xhat = [&](int64_t i, auto count) {
      return (load_floats(r.x + i, count) - r.mean) * r.rstd;
    };
    auto g = [&](int64_t i, auto count) {
      return load_floats(r.dy + i, count) * load_floats(r.gamma + i, count);
    };
    float width = static_cast<float>(e_.width);
    float mean_g = sum_over(e_.width, g) / width;
    auto product = [&](int64_t i, auto count) { return g(i, count) * xhat(i, count); };
    float mean_gx = sum_over(e_.width, product) / width;
    over_lanes(e_.width, [&](int64_t i, auto count) {
      FloatLanes dy = load_floats(r.dy + i, count), at = xhat(i, count);
      FloatLanes dx = r.rstd * (dy * load_floats(r.gamma + i, count) - mean_g - at * mean_gx);
      store_floats(load_floats(dgamma + i, count) + dy * at, dgamma + i, count);
      store_floats(load_floats(dbeta + i, count) + dy, dbeta + i, count);
      store_floats(dx, r.dx + i, count);
    });
  }

  LayerNormRows e_;
  RowChunks chunks_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const LayerNormOp& op, const KernelRequest& request) {
  float epsilon = op.attributes().epsilon;
  return make_typed<LayerNormCpuKernel>(request.inputs[0].dtype, epsilon, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const LayerNormBackwardOp&, const KernelRequest& request) {
  return make_typed<LayerNormBackwardCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
