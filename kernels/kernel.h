// A kernel is an op prepared for one device, one set of shapes and one thread count: it has chosen
// its primitive and its workspace, and from then on only runs. Kernels are made at plan time and
// run by one thread at a time; run() allocates nothing.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/host_device.h"
#include "engine/device/device.h"
#include "kernels/op.h"

namespace spire::inline kernels {

// What a step tells its kernels. Plain numbers, the same whoever hosts the tower.
struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;
  // Index in the global batch of the tower's first row: random numbers are keyed by global row.
  int64_t first_row = 0;
  // 1 / valid samples in the global batch: the factor of every loss gradient; and, of fp16, another
  // one in the device's memory, where it follows from the step before.
  float gradient_scale = 1.0f;
  const double* loss_scale = nullptr;
  // Valid samples of this tower / valid samples in the global batch: weight of batch statistics.
  float tower_weight = 1.0f;

  SPIRE_HOST_DEVICE float loss_gradient_scale() const {
    return loss_scale ? gradient_scale * static_cast<float>(*loss_scale) : gradient_scale;
  }
};

struct KernelArgs {
  std::span<const void* const> inputs;  // in the op's order; packed form where packings() asked
  std::span<void* const> outputs;       // written with `=`, never `+=`
  void* workspace = nullptr;  // scratch of this run: workspace_bytes(), at workspace_alignment
  // In the device's memory: a GPU's kernels read it when they run, as a captured step does.
  const StepContext* step = nullptr;
  void* stream = nullptr;  // the cudaStream_t that a CUDA kernel puts its work on
};

// A parameter in the form a kernel reads it (blocked layout, compute dtype). The device's replica
// makes it once a step from the plain fp32 weights. Kernels that ask for the same parameter in the
// same form share it.
struct Packing {
  int input = 0;     // index of the op's input, which must be a parameter
  std::string form;  // names layout and dtype; equal forms are equal bytes
  size_t bytes = 0;
  // The form falls into `units` equal shares, in the order of the plain weights, that threads may
  // pack at a time: pack_units(plain, packed, first, last, stream). plain: fp32 in the plain
  // layout; both in the device's memory, stream as in KernelArgs. Allocates nothing.
  int64_t units = 1;
  std::function<void(const float* plain, void* packed, int64_t first, int64_t last, void* stream)>
      pack_units;

  void pack(const float* plain, void* packed, void* stream = nullptr) const {
    pack_units(plain, packed, 0, units, stream);
  }
};

class CudaLibraries;  // cuda_libraries.h

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  virtual size_t workspace_bytes() const { return 0; }
  virtual std::vector<Packing> packings() const { return {}; }
};

// Where and for what shapes a kernel is made.
struct KernelRequest {
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;
  DeviceId device;
  int threads = 1;                // CPU threads the kernel may use (and must: results depend on it)
  int op_id = 0;                  // of its node in the graph: keys random numbers (dropout)
  CudaLibraries* cuda = nullptr;  // of the device, if it is a GPU; outlives the kernel
};

// Makes the kernel of `op` for the request's device. Throws Error(device) "[op] has no kernel for
// cuda:0" when the device's table lacks it: nothing runs silently elsewhere; Error(unexpected)
// where a tensor has padded rows that the kernel does not take.
std::unique_ptr<Kernel> make_kernel(const Op& op, const KernelRequest& request);

// Which of its op's tensors a kernel takes with padded rows (TensorSpec::row_pitch). It writes
// zeros into the padding of its output.
struct PaddedRows {
  int input = -1;       // the index of one; -1: none
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
// The row of `op` in the device's table. Throws as make_kernel does.
const KernelEntry& kernel_entry(const Op& op, DeviceId device);
std::span<const KernelEntry> cpu_kernels();
std::span<const KernelEntry> cuda_kernels();  // empty in a build without CUDA

}  // namespace spire::inline kernels
