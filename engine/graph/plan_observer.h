// Shows a run of a plan to an observer, kernel by kernel: every tensor, after the kernel that wrote
// it, for the search for non-finite values and for comparisons of two runs; and where each kernel
// begins and ends, for timelines.
#pragma once
#include <cstddef>
#include <string>

#include <spire/op.h>

namespace spire {

// What wrote a tensor. Equal plans list equal names in equal order.
struct TensorName {
  std::string op;          // "conv2d"; "input" for a column of the batch
  std::string layer = {};  // "conv1", or the layer whose result it reads; empty if there is none
  std::string parameter = {};  // of a gradient: "conv1.weight"; of an input its column; else empty
  bool backward = false;
  int output = 0;  // index into the op's outputs

  std::string text() const;    // "relu of conv1", "gradient of fc1.weight, by ...", "input images"
  std::string kernel() const;  // of the kernel that wrote it: "conv2d of conv1"
};

struct PlanTensor {
  const TensorName& name;
  const TensorSpec& spec;
  const void*
      data;  // spec.bytes() in the device's memory; valid when the stream reaches this point
};

// Called on the thread that runs the plan. Later kernels may overwrite the tensor's memory.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  virtual void on_tensor(const PlanTensor&) {}
  // Called before and after a kernel runs; on a GPU, before and after it is enqueued. name:
  // TensorName::kernel(), lives as long as the plan.
  virtual void before_kernel(const char* /*name*/) {}
  virtual void after_kernel() {}
};

}  // namespace spire
