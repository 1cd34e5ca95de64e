#include "kernels/cpu/elementwise.h"
#include "kernels/float_type.h"
#include "kernels/ops/activation/activation.h"

namespace spire::inline kernels {

namespace {

template <typename T, typename F>
class ForwardKernel : public Kernel {
 public:
  ForwardKernel(F f, const KernelRequest& request)
      : f_(f), n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    elementwise(
        threads_, n_, static_cast<T*>(args.outputs[0]),
        [f = f_](auto x) -> decltype(F{}.value(x)) { return f.value(x); },
        static_cast<const T*>(args.inputs[0]));
  }

 private:
  F f_;
  int64_t n_;
  int threads_;
};

template <typename T, typename F>
class BackwardKernel : public Kernel {
 public:
  BackwardKernel(F f, const KernelRequest& request)
      : f_(f), n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    elementwise(
        threads_, n_, static_cast<T*>(args.outputs[0]),
        [f = f_](auto dy, auto v) -> decltype(F{}.gradient(dy, v)) { return f.gradient(dy, v); },
        static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

 private:
  F f_;
  int64_t n_;
  int threads_;
};

template <template <typename, typename> class K>
std::unique_ptr<Kernel> make(const ActivationAttributes& attributes, const KernelRequest& request) {
  return with_activation(attributes, [&](auto f) {
    return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(type), decltype(f)>>(f, request);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_activation_cpu(const Op& op, const KernelRequest& request) {
  return make<ForwardKernel>(static_cast<const ActivationOp&>(op).attributes(), request);
}

std::unique_ptr<Kernel> make_activation_backward_cpu(const Op& op, const KernelRequest& request) {
  return make<BackwardKernel>(static_cast<const ActivationBackwardOp&>(op).attributes(), request);
}

}  // namespace spire::inline kernels
