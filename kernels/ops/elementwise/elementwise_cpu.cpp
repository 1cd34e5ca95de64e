// Elementwise ops on the CPU, from the functor that the op's header has: threads share the
// elements, and a functor takes a vector register or a single float at a time.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/elementwise/activation.h"
#include "kernels/ops/elementwise/elementwise.h"

namespace spire {

// Tensors have one dtype, but for those of cast.
template <typename SomeOp>
Kernel make_cpu(const SomeOp& op, const KernelRequest& request) {
  return with_functor(op, [&](auto f) {
    return with_float_type(request.outputs[0].dtype, [&]<typename T>(T) -> Kernel {
      int64_t n = request.outputs[0].shape.elements();
      int threads = request.threads;
      if constexpr (std::is_same_v<SomeOp, CastOp>) {
        return cpu_kernel(request, [=]<typename From>(From, const KernelArgs& args) {
          elementwise(threads, n, args.out<T>(0), f, args.in<From>(0));
        });
      } else if constexpr (std::is_invocable_v<decltype(f), float>) {
        return [=](const KernelArgs& args) {
          elementwise(threads, n, args.out<T>(0), f, args.in<T>(0));
        };
      } else {
        return [=](const KernelArgs& args) {
          elementwise(threads, n, args.out<T>(0), f, args.in<T>(0), args.in<T>(1));
        };
      }
    });
  });
}

template Kernel make_cpu(const ActivationOp&, const KernelRequest&);
template Kernel make_cpu(const ActivationBackwardOp&, const KernelRequest&);
template Kernel make_cpu(const AddOp&, const KernelRequest&);
template Kernel make_cpu(const MulOp&, const KernelRequest&);
template Kernel make_cpu(const SubOp&, const KernelRequest&);
template Kernel make_cpu(const DivOp&, const KernelRequest&);
template Kernel make_cpu(const CastOp&, const KernelRequest&);

namespace {

// swiglu takes a register of gates and one of values at a time. Threads share the rows.
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
