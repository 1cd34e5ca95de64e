// Makes the kernel of an op: its own (Op::make_kernel), else that of the table of the device's
// kind.
#pragma once
#include <span>
#include <string_view>
#include <utility>

#include <spire/kernel.h>

namespace spire {

// Makes the kernel of `op` for the request's device. Throws Error(device) if neither the op nor the
// device's table has one, and Error(unexpected) if the request has padded rows where the table's
// row does not allow them (PaddedRows).
Kernel make_kernel(const Op& op, const KernelRequest& request);

// The tensors of a kernel that may have padded rows (TensorSpec::row_pitch); all others are dense.
// A kernel that writes padded rows writes zeros as padding.
struct PaddedRows {
  int input = -1;       // index of an input; -1: none
  bool output = false;  // true: output 0
};

// Make the kernel of an op for a CPU and for a GPU. Each op specializes both, in <op>_cpu.cpp and
// <op>_cuda.cu: template <> Kernel make_cpu(const DropoutOp& op, ...) { ... }
template <typename SomeOp>
Kernel make_cpu(const SomeOp& op, const KernelRequest& request);
template <typename SomeOp>
Kernel make_cuda(const SomeOp& op, const KernelRequest& request);

// Calls visit(float{}) or visit(bfloat16{}) for the dtype of a CPU kernel's elements; throws
// Error(unexpected) for other dtypes. CUDA kernels call with_any_float_type(), which also takes
// fp16. All kernels compute in fp32.
template <typename Visit>
decltype(auto) with_float_type(DType dtype, const Visit& visit) {
  if (dtype == DType::f32) return visit(float{});
  if (dtype != DType::bf16) refuse_float_type(dtype);
  return visit(bfloat16{});
}

// Make a kernel that calls run(T{}, args), T being the type of the tensors' dtype: that of the
// request's input 0, or the given one. workspace_bytes: Kernel::workspace_bytes().
struct ComputeType {
  ComputeType(const KernelRequest& request) : dtype(request.inputs[0].dtype) {}
  ComputeType(DType given) : dtype(given) {}
  DType dtype;
};
template <typename Run>
Kernel cpu_kernel(ComputeType of, size_t workspace_bytes, Run run) {
  return with_float_type(of.dtype, [&](auto type) {
    return Kernel([run, type](const KernelArgs& args) mutable { run(type, args); },
                  workspace_bytes);
  });
}
template <typename Run>
Kernel cuda_kernel(ComputeType of, size_t workspace_bytes, Run run) {
  return with_any_float_type(of.dtype, [&](auto type) {
    return Kernel([run, type](const KernelArgs& args) mutable { run(type, args); },
                  workspace_bytes);
  });
}
template <typename Run>
Kernel cpu_kernel(ComputeType of, Run run) {
  return cpu_kernel(of, 0, std::move(run));
}
template <typename Run>
Kernel cuda_kernel(ComputeType of, Run run) {
  return cuda_kernel(of, 0, std::move(run));
}

// A row of a table of kernels (kernel_table.h). make(): makes the kernel of an Op whose name() is
// `op`.
struct KernelEntry {
  std::string_view op;
  Kernel (*make)(const Op& op, const KernelRequest& request);
  PaddedRows padded_rows = {};  // of CUDA kernels; CPU kernels take none
};
// Returns which tensors of the op's kernel may have padded rows: none on a CPU, and none if the op
// makes its kernel itself.
PaddedRows padded_rows(const Op& op, DeviceId device);
// Returns the row of `op` in the device's table. Throws Error(device) if there is none.
const KernelEntry& kernel_entry(const Op& op, DeviceId device);
std::span<const KernelEntry> cpu_kernels();
std::span<const KernelEntry> cuda_kernels();  // empty in a build without CUDA

}  // namespace spire
