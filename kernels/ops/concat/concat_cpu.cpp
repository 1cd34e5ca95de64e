// Concatenation, slices and padding on the CPU: runs of bytes that threads copy row by row.
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/concat/concat.h"

namespace spire::inline kernels {

namespace {

// Runs of `bytes`, from and to addresses that lie a stride apart.
struct Strided {
  std::byte* to;
  size_t to_stride;
  const std::byte* from;
  size_t from_stride;
  size_t bytes;
};

// Rows of a thread's chunk: 64 KiB at least, which is worth the start of a thread.
int64_t grain_of(size_t row_bytes) {
  return static_cast<int64_t>(65536 / std::max<size_t>(row_bytes, 1) + 1);
}

void copy(int threads, int64_t rows, const Strided& s) {
  parallel_for(threads, rows, grain_of(s.bytes), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      size_t r = static_cast<size_t>(row);
      std::memcpy(s.to + r * s.to_stride, s.from + r * s.from_stride, s.bytes);
    }
  });
}

// Elements of the axes before `axis`: what lies behind them is contiguous, one row of bytes.
int64_t rows_before_axis(const TensorSpec& spec, int axis) {
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= spec.shape[i];
  return rows;
}

class ConcatCpuKernel : public Kernel {
 public:
  ConcatCpuKernel(const ConcatOp& op, const KernelRequest& request) : threads_(request.threads) {
    int axis = op.axis_of(request.outputs[0]);
    rows_ = rows_before_axis(request.outputs[0], axis);
    stride_ = bytes_from_axis(request.outputs[0], axis);
    for (const TensorSpec& part : request.inputs) parts_.push_back(bytes_from_axis(part, axis));
  }

  void run(const KernelArgs& args) override {
    auto y = static_cast<std::byte*>(args.outputs[0]);
    // Each input fills one column of bytes of y, which begins where the one before ends.
    for (size_t i = 0; i < parts_.size(); ++i) {
      auto x = static_cast<const std::byte*>(args.inputs[i]);
      copy(threads_, rows_, {y, stride_, x, parts_[i], parts_[i]});
      y += parts_[i];
    }
  }

 private:
  int threads_;
  int64_t rows_ = 0;
  size_t stride_ = 0;          // bytes of a row of y
  std::vector<size_t> parts_;  // bytes of a row of each input
};

class SliceCpuKernel : public Kernel {
 public:
  SliceCpuKernel(const SliceOp& op, const KernelRequest& request)
      : threads_(request.threads),
        rows_(rows_before_axis(request.inputs[0], op.axis())),
        stride_(bytes_from_axis(request.inputs[0], op.axis())),
        offset_(bytes_from_axis(request.inputs[0], op.axis() + 1) *
                static_cast<size_t>(op.begin())),
        bytes_(bytes_from_axis(request.outputs[0], op.axis())) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const std::byte*>(args.inputs[0]) + offset_;
    copy(threads_, rows_, {static_cast<std::byte*>(args.outputs[0]), bytes_, x, stride_, bytes_});
  }

 private:
  int threads_;
  int64_t rows_;
  size_t stride_, offset_, bytes_;  // in bytes: a row of x, the slice in it, a row of y
};

// Rows of zeros with a row of x in each: the gradient of a slice, and a padding of channels.
class ZeroPaddedCpuKernel : public Kernel {
 public:
  struct Layout {
    int64_t rows;
    size_t row, before, bytes;  // in bytes: a row of y, its zeros before x, a row of x
  };
  ZeroPaddedCpuKernel(const Layout& layout, int threads) : layout_(layout), threads_(threads) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const std::byte*>(args.inputs[0]);
    auto y = static_cast<std::byte*>(args.outputs[0]);
    parallel_for(threads_, layout_.rows, grain_of(layout_.row),
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t row = begin; row < end; ++row) {
                     size_t r = static_cast<size_t>(row);
                     std::byte* to = y + r * layout_.row;
                     std::memset(to, 0, layout_.before);  // 0.0 in every float type
                     std::memcpy(to + layout_.before, x + r * layout_.bytes, layout_.bytes);
                     std::memset(to + layout_.before + layout_.bytes, 0,
                                 layout_.row - layout_.before - layout_.bytes);
                   }
                 });
  }

 private:
  Layout layout_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ConcatOp& op, const KernelRequest& request) {
  return std::make_unique<ConcatCpuKernel>(op, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const SliceOp& op, const KernelRequest& request) {
  return std::make_unique<SliceCpuKernel>(op, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const SliceBackwardOp& op, const KernelRequest& request) {
  const TensorSpec &dy = request.inputs[0], &dx = request.outputs[0];
  ZeroPaddedCpuKernel::Layout layout{
      .rows = rows_before_axis(dx, op.axis()),
      .row = bytes_from_axis(dx, op.axis()),
      .before = bytes_from_axis(dx, op.axis() + 1) * static_cast<size_t>(op.begin()),
      .bytes = bytes_from_axis(dy, op.axis())};
  return std::make_unique<ZeroPaddedCpuKernel>(layout, request.threads);
}

template <>
std::unique_ptr<Kernel> make_cpu(const PadChannelsOp&, const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  int axis = x.shape.rank() - 1;
  ZeroPaddedCpuKernel::Layout layout{.rows = rows_before_axis(x, axis),
                                     .row = bytes_from_axis(y, axis),
                                     .before = 0,
                                     .bytes = bytes_from_axis(x, axis)};
  return std::make_unique<ZeroPaddedCpuKernel>(layout, request.threads);
}

}  // namespace spire::inline kernels
