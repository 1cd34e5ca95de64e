// Elementwise ops on two tensors a and b; a, b, y have one shape and dtype (fp32, bf16 or fp16).
//   add: y = a + b, optionally through a relu    da = db = dy, masked by y > 0 if through a relu
//   mul: y = a * b                               da = dy * b, db = dy * a
//   sub: y = a - b                               da = dy, db = -dy
//   div: y = a / b                               da = dy / b, db = -y * da
// The math is written once here, as functors for host and device, and computed in fp32.
#pragma once
#include <spire/op.h>

#include "kernels/ops/activation/activation.h"

namespace spire {

// inputs: a, b. outputs: y.
class AddOp : public Op {
 public:
  explicit AddOp(bool relu = false) : relu_(relu) {}
  bool relu() const { return relu_; }

  std::string_view name() const override { return "add"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
  std::unique_ptr<Op> with_relu() const override;

 private:
  bool relu_;
};

// inputs: a, b. outputs: y.
class MulOp : public Op {
 public:
  std::string_view name() const override { return "mul"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
};

// inputs: a, b. outputs: y.
class SubOp : public Op {
 public:
  std::string_view name() const override { return "sub"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
};

// inputs: a, b. outputs: y.
class DivOp : public Op {
 public:
  std::string_view name() const override { return "div"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
};

// The functors. V is float, or a vector of floats.
struct Plus {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V a, V b) const {
    return a + b;
  }
};

struct PlusRelu {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V a, V b) const {
    return Relu{}.value(a + b);
  }
};

struct Times {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V a, V b) const {
    return a * b;
  }
};

struct Minus {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V a, V b) const {
    return a - b;
  }
};

struct Quotient {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V a, V b) const {
    return a / b;
  }
};

}  // namespace spire
