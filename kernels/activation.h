// Elementwise activations y = f(x) and their gradients dx = dy * f'. The math is written once here, as
// functors for host and device; `x` and `y` may be any shape, fp32 or bf16, computed in fp32.
#pragma once
#include <cmath>

#include <spire/kernels/op.h>

#ifdef __CUDACC__
#define SPIRE_HOST_DEVICE __host__ __device__
#else
#define SPIRE_HOST_DEVICE
#endif

namespace spire {

enum class Activation { relu, leaky_relu, gelu, sigmoid, tanh };
std::string_view name(Activation activation);

}  // namespace spire
