// Rotary position embedding on the CPU. A thread takes the same row of all samples, so that the
// angles of a position are computed once, unless each row has its own. Rotations in fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/rope/rope.h"

namespace spire {

namespace {

template <typename T>
struct RopeCpu {
  RopeAngles angles;
  Shape shape;  // (N, T, C)
  int64_t heads, half;
  bool positioned;
  int threads;

  void operator()(const KernelArgs& args) const {
    parallel_for(threads, shape[1], 1, [&](int64_t begin, int64_t end, int chunk) {
      float* cosines = args.scratch<float>() + chunk * 2 * half;
      for (int64_t t = begin; t < end; ++t)
        for (int64_t n = 0; n < shape[0]; ++n) {
          int64_t row = n * shape[1] + t;
          if (positioned) {
            set_angles(args.in<int32_t>(1)[row], cosines);
          } else if (n == 0) {
            set_angles(t, cosines);
          }
          turn_row(args, row, cosines);
        }
    });
  }

  void set_angles(int64_t position, float* cosines) const {
    for (int64_t i = 0; i < half; ++i) {
      Rotation rotation = angles.at(position, i);
      cosines[i] = rotation.cosine;
      cosines[half + i] = rotation.sine;
    }
  }

  void turn_row(const KernelArgs& args, int64_t row, const float* cosines) const {
    const T* x = args.in<T>(0) + row * shape[2];
    T* y = args.out<T>(0) + row * shape[2];
    for (int64_t h = 0; h < heads; ++h) turn_head(x + h * 2 * half, y + h * 2 * half, cosines);
    int64_t turned = heads * 2 * half;
    if (x != y) std::copy_n(x + turned, shape[2] - turned, y + turned);
  }

  // y may be x: both of a pair are read before one is written.
  void turn_head(const T* x, T* y, const float* cosines) const {
    over_lanes(half, [&](int64_t i, auto count) {
      FloatLanes a = load_floats(x + i, count), b = load_floats(x + half + i, count);
      FloatLanes c = load_floats(cosines + i, count), s = load_floats(cosines + half + i, count);
      store_floats(a * c - b * s, y + i, count);
      store_floats(b * c + a * s, y + half + i, count);
    });
  }
};

}  // namespace

// Workspace: cosines and sines of a position, for each thread.
template <>
Kernel make_cpu(const RopeOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    const RopeAttributes& a = op.attributes();
    return Kernel(RopeCpu<decltype(type)>{RopeAngles(a), request.inputs[0].shape, a.heads,
                                          a.size / 2, a.positioned, request.threads},
                  static_cast<size_t>(request.threads * 2 * (a.size / 2)) * sizeof(float));
  });
}

}  // namespace spire
