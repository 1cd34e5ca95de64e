// Elementwise ops of two tensors on the CPU: threads share the elements, F combines a register of
// them at a time.
#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/binary/binary.h"

namespace spire {

namespace {

template <typename F>
Kernel make_binary(const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return [n = request.inputs[0].shape.elements(),
            threads = request.threads](const KernelArgs& args) {
      elementwise(
          threads, n, args.out<T>(0), [](auto a, auto b) { return F{}(a, b); }, args.in<T>(0),
          args.in<T>(1));
    };
  });
}

}  // namespace

template <>
Kernel make_cpu(const AddOp& op, const KernelRequest& request) {
  return op.relu() ? make_binary<PlusRelu>(request) : make_binary<Plus>(request);
}

template <>
Kernel make_cpu(const MulOp&, const KernelRequest& request) {
  return make_binary<Times>(request);
}

template <>
Kernel make_cpu(const SubOp&, const KernelRequest& request) {
  return make_binary<Minus>(request);
}

template <>
Kernel make_cpu(const DivOp&, const KernelRequest& request) {
  return make_binary<Quotient>(request);
}

}  // namespace spire
