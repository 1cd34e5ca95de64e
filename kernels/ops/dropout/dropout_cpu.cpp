// Dropout on the CPU, forward and backward alike: y = keep x / (1 - rate). A thread takes whole
// rows, each with a random stream of its own, and draws 256 elements at a time.
#include <algorithm>
#include <optional>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/dropout/dropout_bits.h"

namespace spire {

namespace {

// Elements drawn at a time: their random numbers stay in registers and the first-level cache.
constexpr int64_t group = 256;

struct DropRow {
  uint32_t threshold;
  float scale;
  int64_t size;  // of a row

  template <typename T>
  void operator()(const RandomStream& stream, const T* x, T* y) const {
    alignas(64) uint32_t bits[group];
    alignas(64) float values[group];
    for (int64_t first = 0; first < size; first += group) {
      draw_bits<group>(stream, first, bits);  // also behind the row's end, where they are not read
      int64_t count = std::min(group, size - first);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        float value = static_cast<float>(x[first + i]) * scale;
        values[i] = bits[i] >= threshold ? value : 0.0f;
      }
      copy_range(values, y + first, count);
    }
  }
};

// own_key: of a forward, which hands it to backward, which so draws the same bits.
Kernel make_dropout(float rate, std::optional<int32_t> own_key, const KernelRequest& request) {
  int64_t rows = request.inputs[0].shape[0];
  int64_t size = rows == 0 ? 0 : request.inputs[0].shape.elements() / rows;
  DropRow drop{dropout_threshold(rate), 1 / (1 - rate), size};
  return cpu_kernel(request, [=, threads = request.threads]<typename T>(T, const KernelArgs& args) {
    int32_t key = own_key ? *own_key : *args.in<int32_t>(1);
    if (own_key) *args.out<int32_t>(1) = key;
    parallel_for(threads, rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        drop(dropout_stream(*args.step, key, row), args.in<T>(0) + row * size,
             args.out<T>(0) + row * size);
    });
  });
}

}  // namespace

template <>
Kernel make_cpu(const DropoutOp& op, const KernelRequest& request) {
  return make_dropout(op.attributes().rate, dropout_key(op, request.op_id), request);
}

template <>
Kernel make_cpu(const DropoutBackwardOp& op, const KernelRequest& request) {
  return make_dropout(op.attributes().rate, {}, request);
}

}  // namespace spire
