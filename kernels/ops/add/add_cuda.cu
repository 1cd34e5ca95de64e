#include "kernels/cuda/elementwise.h"
#include "kernels/float_type.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/add/add.h"

namespace spire::inline kernels {

namespace {

template <bool relu>
struct Add {
  __device__ float operator()(float a, float b) const { return relu ? Relu{}.value(a + b) : a + b; }
};

template <typename T, bool relu>
class AddCudaKernel : public Kernel {
 public:
  explicit AddCudaKernel(const KernelRequest& request) : n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]), Add<relu>{},
                     static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  int64_t n_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const AddOp& op, const KernelRequest& request) {
  bool relu = op.relu();
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (relu) return std::make_unique<AddCudaKernel<T, true>>(request);
    return std::make_unique<AddCudaKernel<T, false>>(request);
  });
}

}  // namespace spire::inline kernels
