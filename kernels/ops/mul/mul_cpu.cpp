#include "kernels/cpu/elementwise.h"
#include "kernels/ops/mul/mul.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class MulKernel : public Kernel {
 public:
  explicit MulKernel(const KernelRequest& request)
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

std::unique_ptr<Kernel> make_mul_cpu(const Op&, const KernelRequest& request) {
  return make_cpu_kernel<MulKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
