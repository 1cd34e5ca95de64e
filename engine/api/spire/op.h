// Ops: immutable descriptions of computations on tensors. An Op has a name, infers the shapes of
// its outputs and emits the ops of its gradient. Kernels (kernel.h) compute it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/export.h>
#include <spire/tensor.h>

namespace spire {

// Shape, dtype and row pitch of a tensor.
struct SPIRE_API TensorSpec {
  Shape shape;
  DType dtype = DType::f32;
  // Elements from one row (along the last axis) to the next, if zeros pad rows to a multiple of 16
  // bytes (pad_rows() in graph/passes.h); 0: no padding. `shape` never counts the padding.
  int64_t row_pitch = 0;

  int64_t pitch() const { return row_pitch > 0 ? row_pitch : shape.back(); }
  size_t bytes() const;
  bool operator==(const TensorSpec&) const = default;
};

using TensorSpecs = std::span<const TensorSpec>;

SPIRE_API std::string to_string(const TensorSpec& spec);  // "bf16 (64, 28, 28, 16)"

// Handle of a tensor in the graph that made it.
struct Value {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const Value&) const = default;
};

class Kernel;          // kernel.h
struct KernelRequest;  // kernel.h
class Op;

// The graph as an op sees it in Op::gradient(): inputs, outputs and gradients of that op. A
// gradient has the shape and dtype of its tensor, except that a parameter's gradient is always
// fp32.
class SPIRE_API GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;
  virtual Value input(int index) const = 0;
  virtual Value output(int index) const = 0;
  virtual Value output_gradient(int index) const = 0;  // no value if no loss depends on the output
  // Returns the terms whose sum is output_gradient(), one or two. An op that reads both must round
  // their sum to their dtype, as the op "add" does; then nothing else computes and stores the sum.
  virtual std::vector<Value> gradient_terms(int output_index) const {
    return {output_gradient(output_index)};
  }
  virtual bool wants_gradient(int input_index) const = 0;
  virtual const TensorSpec& spec(Value value) const = 0;
  virtual std::vector<Value> emit(std::unique_ptr<Op> op, std::vector<Value> inputs) = 0;
  virtual void set_gradient(int input_index, Value gradient) = 0;
  // Takes over the gradient, if any, that other uses of the input have summed so far. The op must
  // set a gradient that includes it. For ops that write a large gradient in any case, as embedding
  // and layer_norm do.
  virtual Value take_gradient(int input_index) {
    (void)input_index;
    return {};
  }
};

// One computation. Thread-safe: it never changes.
class SPIRE_API Op {
 public:
  virtual ~Op() = default;

  // Returns the key in the kernel tables and the name in messages: "conv2d_backward_data".
  virtual std::string_view name() const = 0;
  // Returns the specs of the outputs. Throws Error(config) "[conv2d] ..." if number, shapes or
  // dtypes of the inputs are not allowed.
  virtual std::vector<TensorSpec> infer(TensorSpecs inputs) const = 0;

  // For an op that the calling program defines: returns its kernel, or throws if it has none for
  // request.device. The default returns an empty kernel: Spire's tables have the op's kernels.
  virtual Kernel make_kernel(const KernelRequest& request) const;

  // Returns the number of multiply-adds; 0 for ops limited by memory bandwidth (norms).
  virtual int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const {
    (void)inputs, (void)outputs;
    return 0;
  }

  // Emits the ops of the gradient. The default throws Error(config) "[name] has no gradient".
  virtual void gradient(GradientBuilder& builder) const;

  // Returns true if output 0 is the memory of input 0 with another shape (reshape): no kernel runs.
  virtual bool is_view() const { return false; }
  // Returns true if output 0 is input 0 summed over all towers of the step (reduce.h).
  virtual bool sums_towers() const { return false; }
  // Returns true if output 0 may be written over input `index`, which has as many bytes.
  virtual bool may_overwrite(int index) const {
    (void)index;
    return false;
  }

  // Return a fused op, or null if there is none. with_relu() computes relu(op(...));
  // with_residual() computes relu(op(...) + r), where r is an additional, last input.
  virtual std::unique_ptr<Op> with_relu() const { return nullptr; }
  virtual std::unique_ptr<Op> with_residual() const { return nullptr; }
};

// Both throw Error(config) with the op's name: expect_inputs() unless the number of inputs is in
// [least, most], expect() with the message unless `holds`.
SPIRE_API void expect_inputs(const Op& op, TensorSpecs inputs, size_t least, size_t most);
SPIRE_API void expect(const Op& op, bool holds, const std::string& message);

// Base of ops that a struct of attributes describes.
template <typename Attributes>
class OpWith : public Op {
 public:
  explicit OpWith(Attributes attributes = {}) : attributes_(attributes) {}
  const Attributes& attributes() const { return attributes_; }

 protected:
  Attributes attributes_;
};

// Returns true for the dtypes of tensors that kernels compute on (in fp32): fp32, bf16, on GPUs
// fp16.
inline bool is_float_type(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

// Values of options of layers and losses.

struct Extent2d {
  int64_t h = 1, w = 1;
  bool operator==(const Extent2d&) const = default;
};
SPIRE_API std::string to_string(Extent2d extent);  // "3x5"
SPIRE_API std::string to_short_string(
    Extent2d extent);  // "2" if both are equal, else as to_string()

inline Extent2d extent_of(const Shape& nhwc) {
  return {nhwc[1], nhwc[2]};
}

// Loss of a regression, mean over a sample's elements: squared error, absolute error, or their sum.
enum class Regression { mse, l1, l1_l2 };

// Interpolation of images.
enum class Resize { nearest, bilinear };

}  // namespace spire
