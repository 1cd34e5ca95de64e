// Kernels: ops prepared for one device, one set of shapes and one thread count. Making a kernel, at
// plan time, chooses its primitive and its workspace.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/device/device.h"
#include "kernels/op.h"

namespace spire::inline kernels {

// Numbers of a step that kernels read, the same on whichever device a tower runs.
struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_row = 0;  // of the tower in the global batch; keys its random numbers
  // Factors of every loss gradient: 1 / valid samples in the global batch and, with fp16, the loss
  // scale, which lies in the device's memory as it depends on the step before.
  float gradient_scale = 1.0f;
  const double* loss_scale = nullptr;
  // Valid samples of this tower / those of the global batch: the weight of batch statistics.
  float tower_weight = 1.0f;

  SPIRE_HOST_DEVICE float loss_gradient_scale() const {
    return loss_scale ? gradient_scale * static_cast<float>(*loss_scale) : gradient_scale;
  }
};

// Tensors, scratch and stream of one run.
struct KernelArgs {
  std::span<const void* const> inputs;  // in the op's order; packed form where packings() asked
  std::span<void* const> outputs;       // written with `=`, never `+=`
  void* workspace = nullptr;  // scratch of this run: workspace_bytes(), at workspace_alignment
  // In the device's memory: GPU kernels read it as they run, so a captured graph sees new numbers.
  const StepContext* step = nullptr;
  void* stream = nullptr;  // the cudaStream_t on which a CUDA kernel launches
};

// The form in which a kernel reads a parameter: its layout and dtype. The device's replica packs it
// once a step from the plain fp32 weights, for all kernels that ask for that form.
struct Packing {
  int input = 0;     // index of the op's input, which must be a parameter
  std::string form;  // layout and dtype; equal names mean equal bytes
  size_t bytes = 0;
  int64_t units = 1;  // equal shares, in the order of the weights, that threads may pack at once
  // Packs the units [first, last). Both pointers are of whole tensors in the device's memory;
  // stream is as in KernelArgs. Allocates nothing.
  std::function<void(const float* plain, void* packed, int64_t first, int64_t last, void* stream)>
      pack_units;

  void pack(const float* plain, void* packed, void* stream = nullptr) const {
    pack_units(plain, packed, 0, units, stream);
  }
};

class CudaLibraries;  // nvidia/libraries.h

// The computation of one op. Used by one thread at a time; run() allocates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  virtual size_t workspace_bytes() const { return 0; }
  virtual std::vector<Packing> packings() const { return {}; }
};

// Device, shapes and resources for which a kernel is made.
struct KernelRequest {
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;
  DeviceId device;
  int threads = 1;                // CPU threads the kernel may use (and must: results depend on it)
  int op_id = 0;                  // of its node in the graph: keys random numbers (dropout)
  CudaLibraries* cuda = nullptr;  // of the device, if it is a GPU; outlives the kernel
};

// Makes the kernel of `op` for the request's device. Throws Error(device) if the device's table
// lacks it, and Error(unexpected) if a tensor has padded rows that the kernel does not take.
std::unique_ptr<Kernel> make_kernel(const Op& op, const KernelRequest& request);

// Tensors that a kernel takes with padded rows (TensorSpec::row_pitch). It writes zeros as padding.
struct PaddedRows {
  int input = -1;       // -1: none
  bool output = false;  // output 0
};

// Make the kernel of an op for a CPU and for a GPU. Each op specializes both, in <op>_cpu.cpp and
// <op>_cuda.cu: template <> std::unique_ptr<Kernel> make_cpu(const DropoutOp& op, ...) { ... }
template <typename SomeOp>
std::unique_ptr<Kernel> make_cpu(const SomeOp& op, const KernelRequest& request);
template <typename SomeOp>
std::unique_ptr<Kernel> make_cuda(const SomeOp& op, const KernelRequest& request);

// A table row: an op's name, and the function that makes its kernel from an Op of that name.
struct KernelEntry {
  std::string_view op;
  std::unique_ptr<Kernel> (*make)(const Op& op, const KernelRequest& request);
  PaddedRows padded_rows = {};
};
// Returns the row of `op` in the device's table. Throws as make_kernel does.
const KernelEntry& kernel_entry(const Op& op, DeviceId device);
std::span<const KernelEntry> cpu_kernels();
std::span<const KernelEntry> cuda_kernels();  // empty in a build without CUDA

}  // namespace spire::inline kernels
