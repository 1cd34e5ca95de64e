// Concatenation, slices and padding on the CPU: runs of bytes that threads copy row by row.
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/concat/concat.h"

namespace spire {

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

// Rows of zeros with a row of x in each: the gradient of a slice, and a padding of channels.
struct ZeroPadded {
  int64_t rows;
  size_t row, before, bytes;  // in bytes: a row of y, its zeros before x, a row of x
  int threads;

  void operator()(const KernelArgs& args) const {
    parallel_for(threads, rows, grain_of(row), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        size_t r = static_cast<size_t>(i);
        std::byte* to = args.out<std::byte>(0) + r * row;
        std::memset(to, 0, before);  // 0.0 in every float type
        std::memcpy(to + before, args.in<std::byte>(0) + r * bytes, bytes);
        std::memset(to + before + bytes, 0, row - before - bytes);
      }
    });
  }
};

}  // namespace

// Each input fills one column of bytes of y, which begins where the one before ends.
template <>
Kernel make_cpu(const ConcatOp& op, const KernelRequest& request) {
  int axis = op.axis_of(request.outputs[0]);
  std::vector<size_t> parts;  // bytes of a row of each input
  for (const TensorSpec& part : request.inputs) parts.push_back(bytes_from_axis(part, axis));
  return [parts, rows = rows_before_axis(request.outputs[0], axis),
          stride = bytes_from_axis(request.outputs[0], axis),
          threads = request.threads](const KernelArgs& args) {
    auto y = args.out<std::byte>(0);
    for (size_t i = 0; i < parts.size(); ++i) {
      copy(threads, rows, {y, stride, args.in<std::byte>(i), parts[i], parts[i]});
      y += parts[i];
    }
  };
}

template <>
Kernel make_cpu(const SliceOp& op, const KernelRequest& request) {
  const auto [axis, begin, length] = op.attributes();
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  int64_t rows = rows_before_axis(x, axis);
  size_t stride = bytes_from_axis(x, axis), bytes = bytes_from_axis(y, axis);
  size_t offset = bytes_from_axis(x, axis + 1) * static_cast<size_t>(begin);
  return [=, threads = request.threads](const KernelArgs& args) {
    copy(threads, rows,
         {args.out<std::byte>(0), bytes, args.in<std::byte>(0) + offset, stride, bytes});
  };
}

template <>
Kernel make_cpu(const SliceBackwardOp& op, const KernelRequest& request) {
  const auto [axis, begin, length] = op.attributes();
  const TensorSpec &dy = request.inputs[0], &dx = request.outputs[0];
  return ZeroPadded{.rows = rows_before_axis(dx, axis),
                    .row = bytes_from_axis(dx, axis),
                    .before = bytes_from_axis(dx, axis + 1) * static_cast<size_t>(begin),
                    .bytes = bytes_from_axis(dy, axis),
                    .threads = request.threads};
}

template <>
Kernel make_cpu(const PadChannelsOp&, const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  int axis = x.shape.rank() - 1;
  return ZeroPadded{.rows = rows_before_axis(x, axis),
                    .row = bytes_from_axis(y, axis),
                    .before = 0,
                    .bytes = bytes_from_axis(x, axis),
                    .threads = request.threads};
}

}  // namespace spire
