// Backward of activations on a GPU: dx = dy f'(v), elementwise in fp32, a pack of elements a
// thread.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"

namespace spire {

namespace {

// f' as a functor of elementwise_cuda, which takes the floats of one element.
template <typename F>
struct ActivationGradient {
  F f;
  __device__ float operator()(float dy, float v) const { return f.gradient(dy, v); }
};

}  // namespace

template <>
Kernel make_cuda(const ActivationBackwardOp& op, const KernelRequest& request) {
  return with_activation(op.attributes(), [&](auto f) {
    return with_any_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
      using T = decltype(type);
      return [gradient = ActivationGradient<decltype(f)>{f},
              n = request.inputs[0].shape.elements()](const KernelArgs& args) {
        elementwise_cuda(args.stream, n, args.out<T>(0), gradient, args.in<T>(0), args.in<T>(1));
      };
    });
  });
}

}  // namespace spire
