#include "kernels/cpu/elementwise.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/add/add.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class AddCpuKernel : public Kernel {
 public:
  AddCpuKernel(bool relu, const KernelRequest& request)
      : relu_(relu), n_(request.inputs[0].shape.elements()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    if (relu_) {
      sum(args, [](auto a, auto b) { return Relu{}.value(a + b); });
    } else {
      sum(args, [](auto a, auto b) { return a + b; });
    }
  }

 private:
  template <typename F>
  void sum(const KernelArgs& args, F f) {
    elementwise(threads_, n_, static_cast<T*>(args.outputs[0]), f,
                static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
  }

  bool relu_;
  int64_t n_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const AddOp& op, const KernelRequest& request) {
  bool relu = op.relu();
  return make_typed<AddCpuKernel>(request.inputs[0].dtype, relu, request);
}

}  // namespace spire::inline kernels
