// Makes the CUDA kernels of elementwise ops from the functors in the ops' headers (with_functor());
// a thread maps a pack of elements. For the .cu files that list the ops.
#pragma once
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/elementwise/elementwise.h"

namespace spire {

// All tensors of an op have one dtype, except those of cast.
template <typename SomeOp>
Kernel make_cuda(const SomeOp& op, const KernelRequest& request) {
  return with_functor(op, [&](auto f) {
    return with_any_float_type(request.outputs[0].dtype, [&]<typename T>(T) -> Kernel {
      int64_t n = request.outputs[0].shape.elements();
      if constexpr (std::is_same_v<SomeOp, CastOp>) {
        return cuda_kernel(request, [=]<typename From>(From, const KernelArgs& args) {
          elementwise_cuda(args.stream, n, args.out<T>(0), f, args.in<From>(0));
        });
      } else if constexpr (std::is_invocable_v<decltype(f), float>) {
        return [=](const KernelArgs& args) {
          elementwise_cuda(args.stream, n, args.out<T>(0), f, args.in<T>(0));
        };
      } else {
        return [=](const KernelArgs& args) {
          elementwise_cuda(args.stream, n, args.out<T>(0), f, args.in<T>(0), args.in<T>(1));
        };
      }
    });
  });
}

}  // namespace spire
