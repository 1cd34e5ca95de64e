// Elementwise ops of two tensors on the CPU: threads share the elements, F combines a register of
// them at a time.
#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/binary/binary.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T, typename F>
class BinaryCpuKernel : public Kernel {
 public:
  explicit BinaryCpuKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    elementwise(
        threads_, n_, static_cast<T*>(args.outputs[0]), [](auto a, auto b) { return F{}(a, b); },
        static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  int64_t n_;
  int threads_;
};

template <typename F>
std::unique_ptr<Kernel> make_binary(const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<BinaryCpuKernel<decltype(type), F>>(request);
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AddOp& op, const KernelRequest& request) {
  return op.relu() ? make_binary<PlusRelu>(request) : make_binary<Plus>(request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const MulOp&, const KernelRequest& request) {
  return make_binary<Times>(request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const SubOp&, const KernelRequest& request) {
  return make_binary<Minus>(request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const DivOp&, const KernelRequest& request) {
  return make_binary<Quotient>(request);
}

}  // namespace spire::inline kernels
