// Maker of the kernels of activations, which are many. For .cu files.
#pragma once
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

// Returns K<T, F>: a kernel is compiled for each pair of dtype and activation.
template <template <typename, typename> class K>
std::unique_ptr<Kernel> make_activation(const ActivationAttributes& attributes,
                                        const KernelRequest& request) {
  return with_activation(attributes, [&](auto f) {
    return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(type), decltype(f)>>(f, request);
    });
  });
}

}  // namespace spire::inline kernels
