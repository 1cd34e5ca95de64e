#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/concat/concat.h"

namespace spire::inline kernels {

namespace {

// `rows` runs of `bytes`, from and to places that lie a stride apart.
struct Strided {
  std::byte* to;
  size_t to_stride;
  const std::byte* from;
  size_t from_stride;
  size_t bytes;
};

void copy(int threads, int64_t rows, const Strided& s) {
  // A thread's chunk is worth its start: 64 KiB at least.
  int64_t grain = static_cast<int64_t>(65536 / std::max<size_t>(s.bytes, 1) + 1);
  parallel_for(threads, rows, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      size_t r = static_cast<size_t>(row);
      std::memcpy(s.to + r * s.to_stride, s.from + r * s.from_stride, s.bytes);
    }
  });
}

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

class SliceBackwardCpuKernel : public Kernel {
 public:
  SliceBackwardCpuKernel(const SliceBackwardOp& op, const KernelRequest& request)
      : threads_(request.threads),
        rows_(rows_before_axis(request.outputs[0], op.axis())),
        row_(bytes_from_axis(request.outputs[0], op.axis())),
        before_(bytes_from_axis(request.outputs[0], op.axis() + 1) *
                static_cast<size_t>(op.begin())),
        bytes_(bytes_from_axis(request.inputs[0], op.axis())) {}

  void run(const KernelArgs& args) override {
    auto dy = static_cast<const std::byte*>(args.inputs[0]);
    auto dx = static_cast<std::byte*>(args.outputs[0]);
    int64_t grain = static_cast<int64_t>(65536 / std::max<size_t>(row_, 1) + 1);
    parallel_for(threads_, rows_, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        size_t r = static_cast<size_t>(row);
        std::byte* to = dx + r * row_;
        std::memset(to, 0, before_);
        std::memcpy(to + before_, dy + r * bytes_, bytes_);
        std::memset(to + before_ + bytes_, 0, row_ - before_ - bytes_);
      }
    });
  }

 private:
  int threads_;
  int64_t rows_;
  size_t row_, before_, bytes_;  // in bytes: a row of dx, its zeros before dy, a row of dy
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
  return std::make_unique<SliceBackwardCpuKernel>(op, request);
}

}  // namespace spire::inline kernels
