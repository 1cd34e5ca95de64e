// RMS normalization on the CPU. A row is read from memory once; the second pass over it finds it in
// the first-level cache. Backward: dgamma is summed over chunks of rows, then over the chunks, so
// that the bits do not depend on the thread count. All in fp32.
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class RmsNormCpuKernel : public Kernel {
 public:
  RmsNormCpuKernel(float epsilon, const KernelRequest& request)
      : epsilon_(epsilon),
        width_(request.inputs[0].shape.back()),
        rows_(request.inputs[0].shape.elements() / width_),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto gamma = static_cast<const float*>(args.inputs[1]);
    auto y = static_cast<T*>(args.outputs[0]);
    auto rstd = static_cast<float*>(args.outputs[1]);
    parallel_for(threads_, rows_, 4, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        rstd[row] = rstd_of(x + row * width_);
        normalize(x + row * width_, gamma, rstd[row], y + row * width_);
      }
    });
  }

 private:
  float rstd_of(const T* x) const {
    float squares = sum_over(width_, [&](int64_t i, auto count) {
      FloatLanes value = load_floats(x + i, count);
      return value * value;
    });
    return 1.0f / std::sqrt(squares / static_cast<float>(width_) + epsilon_);
  }

  void normalize(const T* x, const float* gamma, float rstd, T* y) const {
    over_lanes(width_, [&](int64_t i, auto count) {
      FloatLanes xhat = load_floats(x + i, count) * rstd;
      store_floats(load_floats(gamma + i, count) * xhat, y + i, count);
    });
  }

  float epsilon_;
  int64_t width_, rows_;
  int threads_;
};

template <typename T>
class RmsNormBackwardCpuKernel : public Kernel {
 public:
  explicit RmsNormBackwardCpuKernel(const KernelRequest& request)
      : width_(request.inputs[1].shape.back()),
        chunks_(request.inputs[1].shape.elements() / width_),
        threads_(request.threads) {}

  // A chunk's sums of dy xhat: (chunks, C) fp32.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(chunks_.chunks * width_) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    auto sums = static_cast<float*>(args.workspace);
    parallel_for(threads_, chunks_.chunks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t chunk = begin; chunk < end; ++chunk)
        add_chunk(args, chunk, sums + chunk * width_);
    });
    add_up_chunks(chunks_, sums, width_, width_, static_cast<float*>(args.outputs[1]));
  }

 private:
  void add_chunk(const KernelArgs& args, int64_t chunk, float* dgamma) const {
    std::fill_n(dgamma, width_, 0.0f);
    for (int64_t row = chunks_.begin(chunk); row < chunks_.end(chunk); ++row) {
      int64_t at = row * width_;
      add_row(static_cast<const T*>(args.inputs[0]) + at,
              static_cast<const T*>(args.inputs[1]) + at, static_cast<const float*>(args.inputs[2]),
              static_cast<const float*>(args.inputs[3])[row], static_cast<T*>(args.outputs[0]) + at,
              dgamma);
    }
  }

  // dx may be dy or x: an element is written after its last read.
  void add_row(const T* dy, const T* x, const float* gamma, float rstd, T* dx,
               float* dgamma) const {
    float products = sum_over(width_, [&](int64_t i, auto count) {
      FloatLanes g = load_floats(dy + i, count) * load_floats(gamma + i, count);
      return g * (load_floats(x + i, count) * rstd);
    });
    float mean = products / static_cast<float>(width_);
    over_lanes(width_, [&](int64_t i, auto count) {
      FloatLanes own = load_floats(dy + i, count), xhat = load_floats(x + i, count) * rstd;
      FloatLanes g = own * load_floats(gamma + i, count);
      store_floats(load_floats(dgamma + i, count) + own * xhat, dgamma + i, count);
      store_floats(rstd * (g - xhat * mean), dx + i, count);
    });
  }

  int64_t width_;
  RowChunks chunks_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const RmsNormOp& op, const KernelRequest& request) {
  float epsilon = op.attributes().epsilon;
  return make_typed<RmsNormCpuKernel>(request.inputs[0].dtype, epsilon, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const RmsNormBackwardOp&, const KernelRequest& request) {
  return make_typed<RmsNormBackwardCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
