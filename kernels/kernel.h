// Kernels: ops prepared for one device, one set of shapes and one thread count. A kernel is made at
// plan time, when it chooses its primitive and its workspace; run() allocates nothing. One thread
// at a time uses a kernel.
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
  // Index of the tower's first row in the global batch. Random numbers are keyed by global row.
  int64_t first_row = 0;
  // 1 / valid samples in the global batch: the factor of every loss gradient. With fp16 a second
  // factor, the loss scale, lies in the device's memory, as it depends on the step before.
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
  // In the device's memory: GPU kernels read it when they run, so a captured graph sees new
  // numbers.
  const StepContext* step = nullptr;
  void* stream = nullptr;  // the cudaStream_t on which a CUDA kernel launches
};

// The form in which a kernel reads a parameter: a blocked layout, the compute dtype. The device's
// replica packs it once a step from the plain fp32 weights. Kernels that ask for one parameter in
// one form share it.
struct Packing {
  int input = 0;     // index of the op's input, which must be a parameter
  std::string form;  // layout and dtype; equal names mean equal bytes
  size_t bytes = 0;
  // The form has `units` equal shares, in the order of the plain weights, that several threads may
  // pack at once: pack_units(plain, packed, first, last, stream). plain is fp32 in the plain
  // layout; both lie in the device's memory. stream: as in KernelArgs. Allocates nothing.
  int64_t units = 1;
  std::function<void(const float* plain, void* packed, int64_t first, int64_t last, void* stream)>
      pack_units;

  void pack(const float* plain, void* packed, void* stream = nullptr) const {
    pack_units(plain, packed, 0, units, stream);
  }
};

class CudaLibraries;  // nvidia/libraries.h

// Computes one op. run() writes outputs with `=`.
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

// Makes the kernel of `op` for the request's device. Throws Error(device) "[op] has no kernel for
// cuda:0" when the device's table lacks it, as no op falls back to another device;
// Error(unexpected) when a tensor has padded rows that the kernel does not take.
std::unique_ptr<Kernel> make_kernel(const Op& op, const KernelRequest& request);

// Tensors that a kernel takes with padded rows (TensorSpec::row_pitch). It writes zeros into the
// padding of its output.
struct PaddedRows {
  int input = -1;       // index of an input; -1: none
  bool output = false;  // output 0
};

// Make the kernel of an op of class SomeOp for a CPU and for a GPU. Each op specializes both beside
// its kernels, in <op>_cpu.cpp and <op>_cuda.cu:
//   template <>
//   std::unique_ptr<Kernel> make_cpu(const DropoutOp& op, const KernelRequest& request) { ... }
template <typename SomeOp>
std::unique_ptr<Kernel> make_cpu(const SomeOp& op, const KernelRequest& request);
template <typename SomeOp>
std::unique_ptr<Kernel> make_cuda(const SomeOp& op, const KernelRequest& request);

// A table row: the op's name and how its kernel is made. The Op is of the class of that name.
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
