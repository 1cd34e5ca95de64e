// Conversion of dtypes on the CPU: threads share the elements.
#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/cast/cast.h"

namespace spire {

template <>
Kernel make_cpu(const CastOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto from) {
    return with_float_type(request.outputs[0].dtype, [&](auto to) -> Kernel {
      using From = decltype(from);
      using To = decltype(to);
      return [n = request.inputs[0].shape.elements(),
              threads = request.threads](const KernelArgs& args) {
        elementwise(threads, n, args.out<To>(0), SameNumber{}, args.in<From>(0));
      };
    });
  });
}

}  // namespace spire
