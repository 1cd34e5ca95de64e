// Runs ops at once, without a graph: tensors in host memory, kernels made for one environment, and
// a GradientBuilder that executes each op that an op's gradient() emits.
#pragma once
#include <map>

#include <tests/kernels/op_test.h>

#include "engine/device/device_memory.h"

namespace spire::testing {

// Allocates exactly `bytes` of the device's memory, filled with one bits: NaN in every float type.
// It begins at a multiple of `alignment`, and of no more where the device's allocator allows that.
std::shared_ptr<DeviceMemory> garbage(DeviceId device, size_t bytes,
                                      size_t alignment = tensor_alignment);

// A tensor in a kernel's dtype. Copies share the memory.
struct DeviceTensor {
  TensorSpec spec;
  bool is_parameter = false;
  std::shared_ptr<DeviceMemory> memory;
};
std::vector<std::byte> bytes_of(const DeviceTensor& tensor);

DType dtype_of(Role role, const Environment& environment);
DeviceTensor upload(const HostTensor& host, DType dtype, bool is_parameter, DeviceId device = {});
HostTensor download(const DeviceTensor& tensor);
double unit_roundoff(DType dtype);  // 0 for integers

// Makes the kernel, packs the parameters it asks for, runs it. In an environment of padded rows,
// tensors that the kernel takes with padding have some, and that of its output must be zeros.
// in_place: also runs it over each input that the op may overwrite, which must give the same bits.
std::vector<DeviceTensor> execute(const Op& op, std::span<const DeviceTensor> inputs,
                                  const Environment& environment, const StepContext& step,
                                  bool in_place = false);

class EagerBuilder : public GradientBuilder {
 public:
  // `output_gradients` has an entry for each output that a gradient reaches.
  EagerBuilder(std::vector<DeviceTensor> inputs, std::vector<bool> wants,
               std::vector<DeviceTensor> outputs, std::map<int, DeviceTensor> output_gradients,
               const Environment& environment, const StepContext& step);

  Value input(int index) const override { return inputs_.at(static_cast<size_t>(index)); }
  Value output(int index) const override { return outputs_.at(static_cast<size_t>(index)); }
  Value output_gradient(int index) const override;
  bool wants_gradient(int index) const override { return wants_.at(static_cast<size_t>(index)); }
  const TensorSpec& spec(Value value) const override { return tensor(value).spec; }
  std::vector<Value> emit(std::unique_ptr<Op> op, std::vector<Value> inputs) override;
  void set_gradient(int input_index, Value gradient) override;

  // Returns the gradient that was set for an input; null if the op set none.
  const DeviceTensor* gradient(int input_index) const;

 private:
  Value add(DeviceTensor tensor);
  const DeviceTensor& tensor(Value value) const {
    return tensors_.at(static_cast<size_t>(value.id));
  }

  Environment environment_;
  StepContext step_;
  std::vector<DeviceTensor> tensors_;  // a Value's id is its index here
  std::vector<Value> inputs_, outputs_;
  std::vector<bool> wants_;
  std::map<int, Value> output_gradients_, gradients_;
};

}  // namespace spire::testing
