#include "kernels/cpu/elementwise.h"
#include "kernels/ops/mul/mul.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class MulCpuKernel : public Kernel {
 public:
  explicit MulCpuKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    elementwise(
        threads_, n_, static_cast<T*>(args.outputs[0]), [](auto a, auto b) { return a * b; },
        static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  int64_t n_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const MulOp&, const KernelRequest& request) {
  return make_typed<MulCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
