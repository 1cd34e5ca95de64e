#include "kernels/cuda/elementwise.h"
#include "kernels/float_type.h"
#include "kernels/ops/activation/activation.h"

namespace spire::inline kernels {

namespace {

template <typename F>
struct Value {
  F f;
  __device__ float operator()(float x) const { return f.value(x); }
};

template <typename F>
struct Gradient {
  F f;
  __device__ float operator()(float dy, float v) const { return f.gradient(dy, v); }
};

template <typename T, typename F>
class ForwardKernel : public Kernel {
 public:
  ForwardKernel(F f, const KernelRequest& request)
      : f_{f}, n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]), f_,
                     static_cast<const T*>(args.inputs[0]));
  }

 private:
  Value<F> f_;
  int64_t n_;
};

template <typename T, typename F>
class BackwardKernel : public Kernel {
 public:
  BackwardKernel(F f, const KernelRequest& request)
      : f_{f}, n_(request.inputs[0].shape.elements()) {}

  void run(const KernelArgs& args) override {
    elementwise_cuda(args.stream, n_, static_cast<T*>(args.outputs[0]), f_,
                     static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  Gradient<F> f_;
  int64_t n_;
};

template <template <typename, typename> class K>
std::unique_ptr<Kernel> make(const ActivationAttributes& attributes, const KernelRequest& request) {
  return with_activation(attributes, [&](auto f) {
    return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(type), decltype(f)>>(f, request);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_activation_cuda(const Op& op, const KernelRequest& request) {
  return make<ForwardKernel>(static_cast<const ActivationOp&>(op).attributes(), request);
}

std::unique_ptr<Kernel> make_activation_backward_cuda(const Op& op, const KernelRequest& request) {
  return make<BackwardKernel>(static_cast<const ActivationBackwardOp&>(op).attributes(), request);
}

}  // namespace spire::inline kernels
