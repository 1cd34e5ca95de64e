// Activations on a GPU: y = f(x), elementwise in fp32, a pack of elements a thread.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"

namespace spire {

namespace {

// f as a functor of elementwise_cuda, which takes the float of one element.
template <typename F>
struct ActivationValue {
  F f;
  __device__ float operator()(float x) const { return f.value(x); }
};

}  // namespace

template <>
Kernel make_cuda(const ActivationOp& op, const KernelRequest& request) {
  return with_activation(op.attributes(), [&](auto f) {
    return with_any_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
      using T = decltype(type);
      return [value = ActivationValue<decltype(f)>{f},
              n = request.inputs[0].shape.elements()](const KernelArgs& args) {
        elementwise_cuda(args.stream, n, args.out<T>(0), value, args.in<T>(0));
      };
    });
  });
}

}  // namespace spire
