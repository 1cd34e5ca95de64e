// swiglu on the CPU, a register of gates and one of values at a time, in fp32. Threads share the
// rows.
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/swiglu/swiglu.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

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

template <typename T>
class SwigluCpuKernel : public Kernel {
 public:
  explicit SwigluCpuKernel(const KernelRequest& request)
      : e_(request.outputs[0], request.threads) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    e_.for_each([&](int64_t row, int64_t i, auto count) {
      const T* gates = x + row * 2 * e_.width + i;
      FloatLanes value = load_floats(gates + e_.width, count);
      store_floats(Silu{}.value(load_floats(gates, count)) * value, y + row * e_.width + i, count);
    });
  }

 private:
  SwigluRows e_;
};

// dx may be x: both of a pair are read before one is written.
template <typename T>
class SwigluBackwardCpuKernel : public Kernel {
 public:
  explicit SwigluBackwardCpuKernel(const KernelRequest& request)
      : e_(request.inputs[0], request.threads) {}

  void run(const KernelArgs& args) override {
    auto dy = static_cast<const T*>(args.inputs[0]), x = static_cast<const T*>(args.inputs[1]);
    auto dx = static_cast<T*>(args.outputs[0]);
    e_.for_each([&](int64_t row, int64_t i, auto count) {
      int64_t at = row * 2 * e_.width + i;
      FloatLanes gate = load_floats(x + at, count), value = load_floats(x + at + e_.width, count);
      FloatLanes own = load_floats(dy + row * e_.width + i, count);
      store_floats(Silu{}.gradient(own * value, gate), dx + at, count);
      store_floats(own * Silu{}.value(gate), dx + at + e_.width, count);
    });
  }

 private:
  SwigluRows e_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const SwigluOp&, const KernelRequest& request) {
  return make_typed<SwigluCpuKernel>(request.inputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const SwigluBackwardOp&, const KernelRequest& request) {
  return make_typed<SwigluBackwardCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
