// Resize on the CPU, forward and backward alike:
//   out[n,i,j,:] = sum over taps (r, a) of row i and (s, b) of column j of a b in[n,r,s,:]
// Threads share the rows of the result; channels go a register at a time. Sums are fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/resize/resize.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class ResizeCpuKernel : public Kernel {
 public:
  ResizeCpuKernel(const KernelRequest& request, ResizeTaps rows, ResizeTaps columns)
      : threads_(request.threads),
        from_(request.inputs[0].shape),
        to_(request.outputs[0].shape),
        rows_(std::move(rows)),
        columns_(std::move(columns)) {}

  void run(const KernelArgs& args) override {
    auto in = static_cast<const T*>(args.inputs[0]);
    auto out = static_cast<T*>(args.outputs[0]);
    parallel_for(threads_, to_[0] * to_[1], 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const T* image = in + row / to_[1] * from_[1] * from_[2] * from_[3];
        write_row(image, rows_[static_cast<size_t>(row % to_[1])], out + row * to_[2] * to_[3]);
      }
    });
  }

 private:
  // Sums the taps of each result; backward has the transposed taps, so no two threads add to one.
  void write_row(const T* image, const std::vector<ResizeTap>& row_taps, T* out) const {
    for (const auto& column_taps : columns_) {
      over_lanes(to_[3], [&](int64_t channel, auto count) {
        FloatLanes sum{};
        for (const ResizeTap& row : row_taps) {
          const T* line = image + row.source * from_[2] * from_[3] + channel;
          for (const ResizeTap& column : column_taps) {
            float weight = row.weight * column.weight;
            sum += weight * load_floats(line + column.source * from_[3], count);
          }
        }
        store_floats(sum, out + channel, count);
      });
      out += to_[3];
    }
  }

  int threads_;
  Shape from_, to_;  // (N, H, W, C)
  ResizeTaps rows_, columns_;
};

std::unique_ptr<Kernel> make_gather(const KernelRequest& request, ResizeTaps rows,
                                    ResizeTaps columns) {
  return make_typed<ResizeCpuKernel>(request.inputs[0].dtype, request, std::move(rows),
                                     std::move(columns));
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ResizeOp& op, const KernelRequest& request) {
  Resize kind = op.kind();
  Extent2d from = extent_of(request.inputs[0].shape), to = extent_of(request.outputs[0].shape);
  return make_gather(request, resize_taps(kind, from.h, to.h), resize_taps(kind, from.w, to.w));
}

template <>
std::unique_ptr<Kernel> make_cpu(const ResizeBackwardOp& op, const KernelRequest& request) {
  Resize kind = op.kind();
  Extent2d x = extent_of(request.outputs[0].shape), y = extent_of(request.inputs[0].shape);
  return make_gather(request, transposed(resize_taps(kind, x.h, y.h), x.h),
                     transposed(resize_taps(kind, x.w, y.w), x.w));
}

}  // namespace spire::inline kernels
