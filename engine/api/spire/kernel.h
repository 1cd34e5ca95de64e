// A kernel: an op prepared for one device, one set of shapes and one thread count. Kernels are made
// when a graph is compiled into a plan, which fixes algorithm and workspace size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <spire/device_id.h>
#include <spire/dtype.h>
#include <spire/export.h>
#include <spire/op.h>

namespace spire::inline kernels {

// Numbers of one tower (one of the shares of a global batch) in one training step. They are
// the same on whichever device the tower runs.
struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_row = 0;  // of the tower in the global batch; its random numbers depend on it
  // Factors of every loss gradient. gradient_scale: 1 / valid samples (not padding) of the global
  // batch. loss_scale: with fp16 the loss scale, in the device's memory, as it depends on the step
  // before; else null.
  float gradient_scale = 1.0f;
  const double* loss_scale = nullptr;
  // Valid samples of this tower / those of the global batch: the weight of its batch statistics.
  float tower_weight = 1.0f;

  SPIRE_HOST_DEVICE float loss_gradient_scale() const {
    return loss_scale ? gradient_scale * static_cast<float>(*loss_scale) : gradient_scale;
  }
};

// Tensors, scratch memory and stream of one run of a kernel.
struct KernelArgs {
  std::span<const void* const> inputs;  // in the op's order; packed where packings() asks for it
  std::span<void* const> outputs;       // written with `=`, never `+=`
  void* workspace = nullptr;  // scratch memory of workspace_bytes(), aligned to workspace_alignment
  // In the device's memory: GPU kernels read it as they run, so a CUDA graph sees each step's
  // numbers.
  const StepContext* step = nullptr;
  void* stream = nullptr;  // the cudaStream_t on which a CUDA kernel launches
};

struct Packing;       // packing.h
class CudaLibraries;  // nvidia/libraries.h

// Computes one op. Used by one thread at a time; run() allocates nothing.
class SPIRE_API Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  virtual size_t workspace_bytes() const { return 0; }
  // The forms in which the kernel reads parameters; the default: as they are, in fp32.
  virtual std::vector<Packing> packings() const;
};

// Device, shapes and resources for which a kernel is made.
struct KernelRequest {
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;
  DeviceId device;
  int threads = 1;  // CPU threads of the kernel, exactly: results may depend on it
  int op_id = 0;    // id of the op's node in the graph; dropout's random numbers depend on it
  CudaLibraries* cuda = nullptr;  // libraries of a GPU, which outlive the kernel; null for a CPU
};

}  // namespace spire::inline kernels
