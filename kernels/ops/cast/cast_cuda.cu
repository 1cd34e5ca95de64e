// Conversion of dtypes on a GPU: a thread converts a pack of elements.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/cast/cast.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename From, typename To>
class CastCudaKernel : public Kernel {
 public:
  explicit CastCudaKernel(const KernelRequest& request) : n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<To*>(args.outputs[0]), SameNumber{},
                     static_cast<const From*>(args.inputs[0]));
  }

 private:
  int64_t n_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const CastOp&, const KernelRequest& request) {
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto from) {
    return with_cuda_float_type(request.outputs[0].dtype, [&](auto to) -> std::unique_ptr<Kernel> {
      return std::make_unique<CastCudaKernel<decltype(from), decltype(to)>>(request);
    });
  });
}

}  // namespace spire::inline kernels
