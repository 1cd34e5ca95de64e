// Makes the kernels of ops, by the table of each kind of device.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include <spire/kernel.h>

namespace spire::inline kernels {

// Makes the kernel of `op` for the request's device. Throws Error(device) if the device's kernel
// table lacks the op, and Error(unexpected) for padded rows that the kernel does not take.
std::unique_ptr<Kernel> make_kernel(const Op& op, const KernelRequest& request);

// The tensors of a kernel that may have padded rows (TensorSpec::row_pitch); all others are dense.
// The kernel writes zeros as padding.
struct PaddedRows {
  int input = -1;       // index of an input; -1: none
  bool output = false;  // true: output 0
};

// Make the kernel of an op for a CPU and for a GPU. Each op specializes both, in <op>_cpu.cpp and
// <op>_cuda.cu: template <> std::unique_ptr<Kernel> make_cpu(const DropoutOp& op, ...) { ... }
template <typename SomeOp>
std::unique_ptr<Kernel> make_cpu(const SomeOp& op, const KernelRequest& request);
template <typename SomeOp>
std::unique_ptr<Kernel> make_cuda(const SomeOp& op, const KernelRequest& request);

// A row of a kernel table: an op's name, and the function that makes its kernel from such an Op.
struct KernelEntry {
  std::string_view op;
  std::unique_ptr<Kernel> (*make)(const Op& op, const KernelRequest& request);
  PaddedRows padded_rows = {};
};
// Returns the padded rows that the op's kernel takes: none for an op of the calling program.
PaddedRows padded_rows(const Op& op, DeviceId device);
// Returns the row of `op` in the device's table. Throws Error(device) if there is none.
const KernelEntry& kernel_entry(const Op& op, DeviceId device);
std::span<const KernelEntry> cpu_kernels();
std::span<const KernelEntry> cuda_kernels();  // empty in a build without CUDA

}  // namespace spire::inline kernels
