// Activations on the CPU: y = f(x) and dx = dy f'(v), elementwise in fp32. Threads share the
// elements; a functor takes a vector register or a single float at a time.
#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"

namespace spire {

template <>
Kernel make_cpu(const ActivationOp& op, const KernelRequest& request) {
  return with_activation(op.attributes(), [&](auto f) {
    return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
      using T = decltype(type);
      using F = decltype(f);
      // The lambda's return type lets elementwise() see whether `f` takes registers, too.
      return [f, n = request.inputs[0].shape.elements(),
              threads = request.threads](const KernelArgs& args) {
        elementwise(
            threads, n, args.out<T>(0),
            [f](auto x) -> decltype(F{}.value(x)) { return f.value(x); }, args.in<T>(0));
      };
    });
  });
}

template <>
Kernel make_cpu(const ActivationBackwardOp& op, const KernelRequest& request) {
  return with_activation(op.attributes(), [&](auto f) {
    return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
      using T = decltype(type);
      using F = decltype(f);
      return [f, n = request.inputs[0].shape.elements(),
              threads = request.threads](const KernelArgs& args) {
        elementwise(
            threads, n, args.out<T>(0),
            [f](auto dy, auto v) -> decltype(F{}.gradient(dy, v)) { return f.gradient(dy, v); },
            args.in<T>(0), args.in<T>(1));
      };
    });
  });
}

}  // namespace spire
