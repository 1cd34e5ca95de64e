// Ops that return the same elements in the same order under another shape. The output is a view of
// the input: no memory moves, no kernel runs.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: x. outputs: x as `shape`, in which one dimension may be -1 and follows from the others.
class ReshapeOp : public Op {
 public:
  explicit ReshapeOp(Shape shape) : shape_(shape) {}

  std::string_view name() const override { return "reshape"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;  // reshape to x's shape
  bool is_view() const override { return true; }

 private:
  Shape shape_;
};

// inputs: x (N, ...). outputs: x as (N, F), with F elements per sample.
class FlattenOp : public Op {
 public:
  std::string_view name() const override { return "flatten"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool is_view() const override { return true; }
};

}  // namespace spire
