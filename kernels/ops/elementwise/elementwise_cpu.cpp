// Elementwise ops on the CPU, from the functor that the op's header has: threads share the
// elements, and a functor takes a vector register or a single float at a time.
#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/elementwise/elementwise.h"

namespace spire {

// Tensors have one dtype, but for those of cast.
template <typename SomeOp>
Kernel make_cpu(const SomeOp& op, const KernelRequest& request) {
  return with_functor(op, [&](auto f) {
    return with_float_type(request.outputs[0].dtype, [&]<typename T>(T) -> Kernel {
      int64_t n = request.outputs[0].shape.elements();
      int threads = request.threads;
      if constexpr (std::is_same_v<SomeOp, CastOp>) {
        return cpu_kernel(request, [=]<typename From>(From, const KernelArgs& args) {
          elementwise(threads, n, args.out<T>(0), f, args.in<From>(0));
        });
      } else if constexpr (std::is_invocable_v<decltype(f), float>) {
        return [=](const KernelArgs& args) {
          elementwise(threads, n, args.out<T>(0), f, args.in<T>(0));
        };
      } else {
        return [=](const KernelArgs& args) {
          elementwise(threads, n, args.out<T>(0), f, args.in<T>(0), args.in<T>(1));
        };
      }
    });
  });
}

template Kernel make_cpu(const ActivationOp&, const KernelRequest&);
template Kernel make_cpu(const ActivationBackwardOp&, const KernelRequest&);
template Kernel make_cpu(const AddOp&, const KernelRequest&);
template Kernel make_cpu(const MulOp&, const KernelRequest&);
template Kernel make_cpu(const SubOp&, const KernelRequest&);
template Kernel make_cpu(const DivOp&, const KernelRequest&);
template Kernel make_cpu(const CastOp&, const KernelRequest&);

}  // namespace spire
