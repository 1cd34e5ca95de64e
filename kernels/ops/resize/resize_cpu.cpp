// Resize on the CPU, forward and backward alike:
//   out[n,i,j,:] = sum over taps (r, a) of row i and (s, b) of column j of a b in[n,r,s,:]
// Threads share the rows of the result; channels go a register at a time. Sums are fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/resize/resize.h"

namespace spire {

namespace {
// Writes a row of the result, which has a pixel for each of `columns`. row_taps, columns: taps in
// the image, whose rows have `width` pixels; backward has the transposed taps, so no two threads
// add to one.
template <typename T>
void write_row(const T* image, int64_t width, int64_t channels,
               const std::vector<ResizeTap>& row_taps, const ResizeTaps& columns, T* out) {
  for (const auto& column_taps : columns) {
    over_lanes(channels, [&](int64_t channel, auto count) {
      FloatLanes sum{};
      for (const ResizeTap& row : row_taps) {
        const T* line = image + row.source * width * channels + channel;
        for (const ResizeTap& column : column_taps) {
          float weight = row.weight * column.weight;
          sum += weight * load_floats(line + column.source * channels, count);
        }
      }
      store_floats(sum, out + channel, count);
    });
    out += channels;
  }
}

Kernel make_resize(const KernelRequest& request, const ResizeTaps& rows,
                   const ResizeTaps& columns) {
  auto from = request.inputs[0].shape;
  auto to = request.outputs[0].shape;
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    parallel_for(threads, to[0] * to[1], 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        write_row(args.in<T>(0) + row / to[1] * from[1] * from[2] * from[3], from[2], from[3],
                  rows[static_cast<size_t>(row % to[1])], columns,
                  args.out<T>(0) + row * to[2] * to[3]);
    });
  });
}

}  // namespace

template <>
Kernel make_cpu(const ResizeOp& op, const KernelRequest& request) {
  Extent2d from = extent_of(request.inputs[0].shape), to = extent_of(request.outputs[0].shape);
  return make_resize(request, resize_taps(op.attributes().kind, from.h, to.h),
                     resize_taps(op.attributes().kind, from.w, to.w));
}

template <>
Kernel make_cpu(const ResizeBackwardOp& op, const KernelRequest& request) {
  Extent2d x = extent_of(request.outputs[0].shape), y = extent_of(request.inputs[0].shape);
  return make_resize(request, transposed(resize_taps(op.attributes().kind, x.h, y.h), x.h),
                     transposed(resize_taps(op.attributes().kind, x.w, y.w), x.w));
}

}  // namespace spire
