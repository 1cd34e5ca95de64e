// Conversion of dtypes on a GPU: a thread converts a pack of elements.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/cast/cast.h"

namespace spire {

template <>
Kernel make_cuda(const CastOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto from) {
    return with_any_float_type(request.outputs[0].dtype, [&](auto to) -> Kernel {
      using From = decltype(from);
      using To = decltype(to);
      return [n = request.inputs[0].shape.elements()](const KernelArgs& args) {
        elementwise_cuda(args.stream, n, args.out<To>(0), SameNumber{}, args.in<From>(0));
      };
    });
  });
}

}  // namespace spire
