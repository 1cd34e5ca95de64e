// Elementwise ops of two tensors on a GPU: a thread combines a pack of elements by F.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/binary/binary.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T, typename F>
class BinaryCudaKernel : public Kernel {
 public:
  explicit BinaryCudaKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]), F{},
                     static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  int64_t n_;
};

// Returns the kernel of F for the inputs' dtype, which is that of y.
template <typename F>
std::unique_ptr<Kernel> make_binary_cuda(const KernelRequest& request) {
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<BinaryCudaKernel<decltype(type), F>>(request);
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const AddOp& op, const KernelRequest& request) {
  return op.relu() ? make_binary_cuda<PlusRelu>(request) : make_binary_cuda<Plus>(request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const MulOp&, const KernelRequest& request) {
  return make_binary_cuda<Times>(request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const SubOp&, const KernelRequest& request) {
  return make_binary_cuda<Minus>(request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const DivOp&, const KernelRequest& request) {
  return make_binary_cuda<Quotient>(request);
}

}  // namespace spire::inline kernels
