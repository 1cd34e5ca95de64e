// Elementwise ops of two tensors on a GPU: a thread combines a pack of elements by F.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/binary/binary.h"

namespace spire {

namespace {

// Returns the kernel of F for the inputs' dtype, which is that of y.
template <typename F>
Kernel make_binary_cuda(const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return [n = request.inputs[0].shape.elements()](const KernelArgs& args) {
      elementwise_cuda(args.stream, n, args.out<T>(0), F{}, args.in<T>(0), args.in<T>(1));
    };
  });
}

}  // namespace

template <>
Kernel make_cuda(const AddOp& op, const KernelRequest& request) {
  return op.relu() ? make_binary_cuda<PlusRelu>(request) : make_binary_cuda<Plus>(request);
}

template <>
Kernel make_cuda(const MulOp&, const KernelRequest& request) {
  return make_binary_cuda<Times>(request);
}

template <>
Kernel make_cuda(const SubOp&, const KernelRequest& request) {
  return make_binary_cuda<Minus>(request);
}

template <>
Kernel make_cuda(const DivOp&, const KernelRequest& request) {
  return make_binary_cuda<Quotient>(request);
}

}  // namespace spire
