// Bias on the CPU. Forward: threads share the rows, whose channels go a register at a time.
// Backward: rows are summed in chunks that the shape alone fixes, then the chunks in their order,
// so that the bits do not depend on the thread count; all in fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/kernel.h"
#include "kernels/ops/bias/bias.h"

namespace spire {

namespace {

// sum[c] = the sum over rows of `channels` elements, a `pitch` apart.
template <typename T>
void add_rows(const T* from, int64_t rows, int64_t pitch, float* sum, int64_t channels) {
  over_lanes(channels, [&](int64_t c, auto count) {
    FloatLanes lanes{};
    for (int64_t row = 0; row < rows; ++row) lanes += load_floats(from + row * pitch + c, count);
    store_floats(lanes, sum + c, count);
  });
}

}  // namespace

template <>
Kernel make_cpu(const BiasOp&, const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  int64_t rows = shape.elements() / shape.back(), channels = shape.back();
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto x = args.in<T>(0);
    auto b = args.in<float>(1);
    auto y = args.out<T>(0);
    parallel_for(threads, rows, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        over_lanes(channels, [&](int64_t c, auto count) {
          int64_t at = row * channels + c;
          store_floats(load_floats(x + at, count) + load_floats(b + c, count), y + at, count);
        });
    });
  });
}

// Workspace: the sums of the chunks, (chunks, C) fp32.
template <>
Kernel make_cpu(const BiasBackwardOp&, const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  int64_t rows = shape.elements() / shape.back(), channels = shape.back();
  RowChunks chunks(rows);
  size_t bytes = static_cast<size_t>(chunks.chunks * channels) * sizeof(float);
  int threads = request.threads;
  return cpu_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto dy = args.in<T>(0);
    auto db = args.out<float>(0), sums = args.scratch<float>();
    // Of few rows, threads share the channels, which may be many: a parameter of a sample's whole
    // shape.
    if (chunks.chunks == 1)
      return parallel_for(threads, channels, 256, [&](int64_t begin, int64_t end, int) {
        add_rows(dy + begin, rows, channels, db + begin, end - begin);
      });
    parallel_for(threads, chunks.chunks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end; ++k)
        add_rows(dy + chunks.begin(k) * channels, chunks.end(k) - chunks.begin(k), channels,
                 sums + k * channels, channels);
    });
    add_up_chunks(chunks, sums, channels, channels, db);
  });
}

}  // namespace spire
