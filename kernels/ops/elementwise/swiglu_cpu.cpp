// swiglu on the CPU: takes a register of gates and one of values at a time, in fp32.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/elementwise/activation.h"
#include "kernels/ops/elementwise/elementwise.h"

namespace spire {

namespace {

// Threads share the rows.
struct SwigluRows {
  int64_t rows, width;  // M, F
  int threads;

  SwigluRows(const TensorSpec& y, int thread_count)
      : rows(y.shape.elements() / y.shape.back()), width(y.shape.back()), threads(thread_count) {}

  // Calls body(row, first, count) for each register of each row.
  template <typename Body>
  void for_each(const Body& body) const {
    parallel_for(threads, rows, 4, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        over_lanes(width, [&](int64_t i, auto count) { body(row, i, count); });
    });
  }
};

}  // namespace

template <>
Kernel make_cpu(const SwigluOp&, const KernelRequest& request) {
  auto e = SwigluRows(request.outputs[0], request.threads);
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto x = args.in<T>(0);
    auto y = args.out<T>(0);
    e.for_each([&](int64_t row, int64_t i, auto count) {
      const T* gates = x + row * 2 * e.width + i;
      FloatLanes value = load_floats(gates + e.width, count);
      store_floats(Silu{}.value(load_floats(gates, count)) * value, y + row * e.width + i, count);
    });
  });
}

// dx may be x: both of a pair are read before one is written.
template <>
Kernel make_cpu(const SwigluBackwardOp&, const KernelRequest& request) {
  auto e = SwigluRows(request.inputs[0], request.threads);
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto dy = args.in<T>(0), x = args.in<T>(1);
    auto dx = args.out<T>(0);
    e.for_each([&](int64_t row, int64_t i, auto count) {
      int64_t at = row * 2 * e.width + i;
      FloatLanes gate = load_floats(x + at, count), value = load_floats(x + at + e.width, count);
      FloatLanes own = load_floats(dy + row * e.width + i, count);
      store_floats(Silu{}.gradient(own * value, gate), dx + at, count);
      store_floats(own * Silu{}.value(gate), dx + at + e.width, count);
    });
  });
}

}  // namespace spire
