#include "kernels/cuda/elementwise.h"
#include "kernels/ops/mul/mul.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

struct Multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};

template <typename T>
class MulCudaKernel : public Kernel {
 public:
  explicit MulCudaKernel(const KernelRequest& request) : n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]), Multiply{},
                     static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  int64_t n_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const MulOp&, const KernelRequest& request) {
  return make_typed_cuda<MulCudaKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
