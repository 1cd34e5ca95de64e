// A kernel: an op prepared for one device, one set of shapes and one thread count. Kernels are made
// when a graph is compiled into a plan, which fixes algorithm and workspace size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <spire/export.h>
#include <spire/op.h>
#include <spire/tensor.h>

namespace spire {

// Numbers of one tower (one of the shares of a global batch) in one training step. They are
// the same on whichever device the tower runs.
struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_row = 0;  // of the tower in the global batch; its random numbers depend on it
  // Factors of every loss gradient. gradient_scale: 1 / valid samples (not padding) of the global
  // batch. loss_scale: points to the fp16 loss scale in the device's memory, where the step before
  // updates it; null in other precisions.
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
  std::span<void* const> outputs;       // overwritten: a kernel never adds to what is there
  void* workspace = nullptr;  // scratch memory of workspace_bytes(), aligned to workspace_alignment
  // In the device's memory: GPU kernels read it as they run, so a CUDA graph sees each step's
  // numbers.
  const StepContext* step = nullptr;
  void* stream = nullptr;  // the cudaStream_t on which a CUDA kernel launches

  // The elements of an input, of an output and of the workspace, as T.
  template <typename T>
  const T* in(size_t index) const {
    return static_cast<const T*>(inputs[index]);
  }
  template <typename T>
  T* out(size_t index) const {
    return static_cast<T*>(outputs[index]);
  }
  template <typename T>
  T* scratch() const {
    return static_cast<T*>(workspace);
  }
};

struct Packing;       // packing.h
class CudaLibraries;  // cuda/libraries.h

// A callable that computes one op from KernelArgs. It owns what it captured when it was made. One
// thread at a time may run it; a run allocates nothing.
class SPIRE_API Kernel {
 public:
  Kernel() = default;  // empty: converts to false
  // run: a callable of const KernelArgs&, which may be only movable.
  template <typename Run>
  Kernel(Run run, size_t workspace_bytes = 0)
      : function_(std::make_unique<Function<Run>>(std::move(run))),
        workspace_bytes_(workspace_bytes) {}
  // Returns this kernel, marked to read its parameters in these packed forms instead of plain fp32.
  Kernel reading(std::vector<Packing> packings) &&;

  explicit operator bool() const { return function_ != nullptr; }
  void run(const KernelArgs& args) { function_->run(args); }
  size_t workspace_bytes() const { return workspace_bytes_; }
  const std::vector<Packing>& packings() const;

 private:
  struct AnyFunction {
    virtual ~AnyFunction() = default;
    virtual void run(const KernelArgs& args) = 0;
  };
  template <typename Run>
  struct Function : AnyFunction {
    explicit Function(Run callable) : call(std::move(callable)) {}
    void run(const KernelArgs& args) override { call(args); }
    Run call;
  };

  std::unique_ptr<AnyFunction> function_;
  size_t workspace_bytes_ = 0;
  std::shared_ptr<const std::vector<Packing>> packings_;  // null: none
};

// Device, shapes and resources for which a kernel is made.
struct KernelRequest {
  TensorSpecs inputs;
  TensorSpecs outputs;
  DeviceId device;
  int threads = 1;  // exact number of CPU threads that it uses: results may depend on it
  int op_id = 0;    // id of the op's node in the graph; dropout's random numbers depend on it
  CudaLibraries* cuda = nullptr;  // libraries of a GPU, which outlive the kernel; null for a CPU
};

}  // namespace spire
