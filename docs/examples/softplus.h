// Kernels of an op of a program's own: softplus, y = log(1 + e^x), elementwise, and its gradient,
// dx = dy / (1 + e^-x).
#pragma once
#include <spire/kernel.h>

// backward: inputs x and dy, else x. The CUDA kernels are in a file of their
// own, which a build without a CUDA compiler replaces by one that refuses.
spire::Kernel softplus_kernel_cpu(const spire::KernelRequest& request, bool backward);
spire::Kernel softplus_kernel_cuda(const spire::KernelRequest& request, bool backward);
