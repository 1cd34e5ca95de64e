// Activations on a GPU: y = f(x) and dx = dy f'(v), elementwise in fp32, a pack of elements a
// thread.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

// f and f' as functors of elementwise_cuda, which take the floats of one element.
template <typename F>
struct ActivationValue {
  F f;
  __device__ float operator()(float x) const { return f.value(x); }
};

template <typename F>
struct ActivationGradient {
  F f;
  __device__ float operator()(float dy, float v) const { return f.gradient(dy, v); }
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

// Returns K<T, F>: a kernel is compiled for each pair of dtype and activation.
template <template <typename, typename> class K>
std::unique_ptr<Kernel> make(const ActivationAttributes& attributes, const KernelRequest& request) {
  return with_activation(attributes, [&](auto f) {
    return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(type), decltype(f)>>(f, request);
    });
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ActivationOp& op, const KernelRequest& request) {
  return make<ActivationCudaKernel>(op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const ActivationBackwardOp& op, const KernelRequest& request) {
  return make<ActivationBackwardCudaKernel>(op.attributes(), request);
}

}  // namespace spire::inline kernels
