// Backward of activations on a GPU: dx = dy f'(v), elementwise in fp32, a pack of elements a
// thread.
#include "kernels/ops/activation/activation_cuda.h"

namespace spire::inline kernels {

namespace {

// f' as a functor of elementwise_cuda, which takes the floats of one element.
template <typename F>
struct ActivationGradient {
  F f;
  __device__ float operator()(float dy, float v) const { return f.gradient(dy, v); }
};

template <typename T, typename F>
class ActivationBackwardCudaKernel : public Kernel {
 public:
  ActivationBackwardCudaKernel(F f, const KernelRequest& request)
      : f_{f}, n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]), f_,
                     static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  ActivationGradient<F> f_;
  int64_t n_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ActivationBackwardOp& op, const KernelRequest& request) {
  return make_activation<ActivationBackwardCudaKernel>(op.attributes(), request);
}

}  // namespace spire::inline kernels
