// Rotary position embedding on a GPU. A thread takes one pair of columns of a row in all heads, so
// that it computes one angle. Rotations in fp32.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/kernel.h"
#include "kernels/ops/rope/rope.h"

namespace spire {

namespace {

struct RopeExtents {
  int64_t pairs;           // N T D / 2
  int64_t columns, heads;  // C, H
  int64_t half;            // D / 2
};

// y may be x: a thread writes only elements that it alone has read. positions: null, or of each
// row.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    rope_kernel(RopeExtents e, Divider half, Divider length, RopeAngles angles,
                const int32_t* positions, const T* x, T* y) {
  int64_t at = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (at >= e.pairs) return;
  auto [row, pair] = half.divide(at);
  int64_t position = positions ? positions[row] : length.divide(row).remainder;
  Rotation rotation = angles.at(position, pair);
  x += row * e.columns + pair;
  y += row * e.columns + pair;
  for (int64_t h = 0; h < e.heads; ++h) {
    int64_t first = h * 2 * e.half, second = first + e.half;
    auto a = static_cast<float>(x[first]), b = static_cast<float>(x[second]);
    y[first] = T(a * rotation.cosine - b * rotation.sine);
    y[second] = T(b * rotation.cosine + a * rotation.sine);
  }
  if (x == y) return;
  for (int64_t c = e.heads * 2 * e.half; c + pair < e.columns; c += e.half) y[c] = x[c];
}

}  // namespace

template <>
Kernel make_cuda(const RopeOp& op, const KernelRequest& request) {
  const RopeAttributes& a = op.attributes();
  const Shape& shape = request.inputs[0].shape;
  int64_t half = a.size / 2;
  RopeExtents e{shape[0] * shape[1] * half, shape[2], a.heads, half};
  auto length = Divider(shape[1]);
  auto angles = RopeAngles(a);
  bool positioned = a.positioned;
  return cuda_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    launch(rope_kernel<T>, blocks_for(e.pairs, block_threads), block_threads, args.stream, e,
           Divider(e.half), length, angles, positioned ? args.in<int32_t>(1) : nullptr,
           args.in<T>(0), args.out<T>(0));
  });
}

}  // namespace spire
