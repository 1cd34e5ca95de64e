// Activations on a GPU: y = f(x), elementwise in fp32, a pack of elements a thread.
#include "kernels/ops/activation/activation_cuda.h"

namespace spire::inline kernels {

namespace {

// f as a functor of elementwise_cuda, which takes the float of one element.
template <typename F>
struct ActivationValue {
  F f;
  __device__ float operator()(float x) const { return f.value(x); }
};

template <typename T, typename F>
class ActivationCudaKernel : public Kernel {
 public:
  ActivationCudaKernel(F f, const KernelRequest& request)
      : f_{f}, n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]), f_,
                     static_cast<const T*>(args.inputs[0]));
  }

 private:
  ActivationValue<F> f_;
  int64_t n_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ActivationOp& op, const KernelRequest& request) {
  return make_activation<ActivationCudaKernel>(op.attributes(), request);
}

}  // namespace spire::inline kernels
