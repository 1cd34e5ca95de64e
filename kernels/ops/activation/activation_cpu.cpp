// Activations on the CPU: y = f(x) and dx = dy f'(v), elementwise in fp32. Threads share the
// elements; a functor takes a vector register or a single float at a time.
#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T, typename F>
class ActivationCpuKernel : public Kernel {
 public:
  ActivationCpuKernel(F f, const KernelRequest& request)
      : f_(f), n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  // The lambda's return type lets elementwise() see whether `f` takes registers, too.
  void run(const KernelArgs& args) override {
    elementwise(
        threads_, n_, static_cast<T*>(args.outputs[0]),
        [f = f_](auto x) -> decltype(F{}.value(x)) { return f.value(x); },
        static_cast<const T*>(args.inputs[0]));
  }

 private:
  F f_;
  int64_t n_;
  int threads_;
};

template <typename T, typename F>
class ActivationBackwardCpuKernel : public Kernel {
 public:
  ActivationBackwardCpuKernel(F f, const KernelRequest& request)
      : f_(f), n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    elementwise(
        threads_, n_, static_cast<T*>(args.outputs[0]),
        [f = f_](auto dy, auto v) -> decltype(F{}.gradient(dy, v)) { return f.gradient(dy, v); },
        static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  F f_;
  int64_t n_;
  int threads_;
};

// Makes K<T, F> for the input's element type T and the functor F of the activation.
template <template <typename, typename> class K>
std::unique_ptr<Kernel> make(const ActivationAttributes& attributes, const KernelRequest& request) {
  return with_activation(attributes, [&](auto f) {
    return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(type), decltype(f)>>(f, request);
    });
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ActivationOp& op, const KernelRequest& request) {
  return make<ActivationCpuKernel>(op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const ActivationBackwardOp& op, const KernelRequest& request) {
  return make<ActivationBackwardCpuKernel>(op.attributes(), request);
}

}  // namespace spire::inline kernels
