// Rotary position embedding on the CPU. A thread takes the same row of all samples, so that the
// angles of a position are computed once, unless each row has its own. Rotations in fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class RopeCpuKernel : public Kernel {
 public:
  RopeCpuKernel(const RopeAttributes& attributes, const KernelRequest& request)
      : angles_(attributes),
        shape_(request.inputs[0].shape),
        heads_(attributes.heads),
        half_(attributes.size / 2),
        positioned_(attributes.positioned),
        threads_(request.threads) {}

  // Cosines and sines of a position, for each thread.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_ * 2 * half_) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    parallel_for(threads_, shape_[1], 1, [&](int64_t begin, int64_t end, int chunk) {
      float* cosines = static_cast<float*>(args.workspace) + chunk * 2 * half_;
      for (int64_t t = begin; t < end; ++t)
        for (int64_t n = 0; n < shape_[0]; ++n) {
          int64_t row = n * shape_[1] + t;
          if (positioned_) {
            set_angles(static_cast<const int32_t*>(args.inputs[1])[row], cosines);
          } else if (n == 0) {
            set_angles(t, cosines);
          }
          turn_row(args, row, cosines);
        }
    });
  }

 private:
  void set_angles(int64_t position, float* cosines) const {
    for (int64_t i = 0; i < half_; ++i) {
      Rotation rotation = angles_.at(position, i);
      cosines[i] = rotation.cosine;
      cosines[half_ + i] = rotation.sine;
    }
  }

  void turn_row(const KernelArgs& args, int64_t row, const float* cosines) const {
    const T* x = static_cast<const T*>(args.inputs[0]) + row * shape_[2];
    T* y = static_cast<T*>(args.outputs[0]) + row * shape_[2];
    for (int64_t h = 0; h < heads_; ++h) turn_head(x + h * 2 * half_, y + h * 2 * half_, cosines);
    int64_t turned = heads_ * 2 * half_;
    if (x != y) std::copy_n(x + turned, shape_[2] - turned, y + turned);
  }

  // y may be x: both of a pair are read before one is written.
  void turn_head(const T* x, T* y, const float* cosines) const {
    over_lanes(half_, [&](int64_t i, auto count) {
      FloatLanes a = load_floats(x + i, count), b = load_floats(x + half_ + i, count);
      FloatLanes c = load_floats(cosines + i, count), s = load_floats(cosines + half_ + i, count);
      store_floats(a * c - b * s, y + i, count);
      store_floats(b * c + a * s, y + half_ + i, count);
    });
  }

  RopeAngles angles_;
  Shape shape_;  // (N, T, C)
  int64_t heads_, half_;
  bool positioned_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const RopeOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  return make_typed<RopeCpuKernel>(request.inputs[0].dtype, attributes, request);
}

}  // namespace spire::inline kernels
