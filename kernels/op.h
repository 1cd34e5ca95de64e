// What an op is: its name, the shapes it makes, and its gradient said as other ops. An Op is an
// immutable description with its attributes; it owns no memory and knows no device. The CPU and
// CUDA files beside each op's header make Kernels from it (kernel.h); the tables in cpu_kernels.cpp
// and cuda_kernels.cpp say which.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/error.h>

#include "engine/base/dtype.h"
#include "engine/base/shape.h"

namespace spire::inline kernels {

struct TensorSpec {
  Shape shape;
  DType dtype = DType::f32;
  // Elements from the beginning of a row (along the last axis) to that of the next one, a multiple
  // of 16 bytes, where rows are padded (pad_rows() in graph/passes.h); 0: they are not. The padding
  // holds zeros. Shapes never include it.
  int64_t row_pitch = 0;

  int64_t pitch() const { return row_pitch > 0 ? row_pitch : shape.back(); }
  size_t bytes() const;
  bool operator==(const TensorSpec&) const = default;
};

std::string to_string(const TensorSpec& spec);  // "bf16 (64, 28, 28, 16)"

// A tensor of a graph. Only the graph that made it gives it meaning.
struct Value {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const Value&) const = default;
};

class Op;

// What an op may ask and do while it says its gradient. A gradient has the shape of its tensor;
// that of an activation has its dtype, that of a parameter is fp32.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;
  virtual Value input(int index) const = 0;
  virtual Value output(int index) const = 0;
  // Gradient that reaches output `index`; no value when none does.
  virtual Value output_gradient(int index) const = 0;
  virtual bool wants_gradient(int input_index) const = 0;
  virtual const TensorSpec& spec(Value value) const = 0;
  virtual std::vector<Value> emit(std::unique_ptr<Op> op, std::vector<Value> inputs) = 0;
  virtual void set_gradient(int input_index, Value gradient) = 0;
  // What the input's other uses have gathered so far, no value when nothing: the op takes it over,
  // and the gradient that it sets must include it. For an op that adds to a large gradient in
  // place.
  virtual Value take_gradient(int input_index) {
    (void)input_index;
    return {};
  }
};

class Op {
 public:
  virtual ~Op() = default;

  // The name in the kernel tables and in messages: "conv2d", "conv2d_backward_data".
  virtual std::string_view name() const = 0;

  // Output specs for these inputs. Throws Error(config) "[conv2d] ..." when the inputs do not fit.
  virtual std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const = 0;

  // Multiplications with an addition, the work that figures of models are stated in; one counts as
  // two floating-point operations. 0 for ops whose time is that of memory (norms, activations).
  virtual int64_t multiply_adds(std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec> outputs) const {
    (void)inputs, (void)outputs;
    return 0;
  }

  // Emits the ops of the gradient. The default throws: "[name] has no gradient".
  virtual void gradient(GradientBuilder& builder) const;

  // Output 0 is input 0's memory under another shape (reshape): no kernel runs.
  virtual bool is_view() const { return false; }

  // Output 0 is input 0, a vector of fp64, summed over all towers of the step (tower_sum). Who runs
  // the towers makes the sum; the op's kernel is for a single tower, and copies.
  virtual bool sums_towers() const { return false; }

  // Whether output 0 may be written over input `index` (same bytes, elementwise).
  virtual bool may_overwrite(int index) const {
    (void)index;
    return false;
  }

  // The same op with a relu behind it, or with a second addend before that relu as its last input
  // (relu(op(...) + addend)); null when there is no such form. The fusion pass asks.
  virtual std::unique_ptr<Op> with_relu() const { return nullptr; }
  virtual std::unique_ptr<Op> with_residual() const { return nullptr; }
};

// An op that one struct of attributes describes.
template <typename Attributes>
class OpWith : public Op {
 public:
  explicit OpWith(Attributes attributes = {}) : attributes_(attributes) {}
  const Attributes& attributes() const { return attributes_; }

 protected:
  Attributes attributes_;
};

// Helpers for infer(): both throw Error(config) naming the op.
void expect_inputs(const Op& op, std::span<const TensorSpec> inputs, size_t least, size_t most);
template <typename... Args>
void expect(const Op& op, bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (holds) return;
  fail(Category::config, "[{}] {}", op.name(), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace spire::inline kernels
