// Conversion of dtypes on the CPU: threads share the elements.
#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/cast/cast.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename From, typename To>
class CastCpuKernel : public Kernel {
 public:
  explicit CastCpuKernel(const KernelRequest& request)
      : n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    elementwise(threads_, n_, static_cast<To*>(args.outputs[0]), SameNumber{},
                static_cast<const From*>(args.inputs[0]));
  }

 private:
  int64_t n_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const CastOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto from) {
    return with_float_type(request.outputs[0].dtype, [&](auto to) -> std::unique_ptr<Kernel> {
      return std::make_unique<CastCpuKernel<decltype(from), decltype(to)>>(request);
    });
  });
}

}  // namespace spire::inline kernels
