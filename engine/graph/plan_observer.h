// Shows every tensor of a run of a plan to an observer, after the kernel that wrote it: for the
// search for non-finite values, and for comparisons of two runs.
#pragma once
#include <cstddef>
#include <string>

#include "kernels/op.h"

namespace spire::inline graph {

// What wrote a tensor. Equal plans list equal names in equal order.
struct TensorName {
  std::string op;          // "conv2d"; "input" for a column of the batch
  std::string layer = {};  // "conv1", or the layer whose result it reads; empty if there is none
  std::string parameter = {};  // of a gradient: "conv1.weight"; of an input its column; else empty
  bool backward = false;
  int output = 0;  // index into the op's outputs

  std::string text() const;  // "conv2d of conv1", "gradient of conv1.weight", "input images"
};

struct PlanTensor {
  const TensorName& name;
  const TensorSpec& spec;
  const void* data;  // spec.bytes() in the device's memory, once the stream is there
};

// Called on the thread that runs the plan. Later kernels may overwrite the tensor's memory.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  virtual void on_tensor(const PlanTensor& tensor) = 0;
};

}  // namespace spire::inline graph
