// Selection of indices along an axis, in any order, repeats allowed:
//   gather: y[.., k, ..] = x[.., indices[k], ..]
//           dx[.., a, ..] = sum over all k with indices[k] = a of dy[.., k, ..]
// x is fp32, bf16 or fp16; indices (K) i32. An index outside the axis makes its part of y NaN and
// adds nothing to dx.
//   embedding: y[.., c] = table[ids[..], c], rows of a table by id
//              dtable[v, c] = sum over all positions with ids[..] = v of dy[.., c]
// ids (..) i32; table (V, C) fp32 parameter; y (.., C) fp32, bf16 or fp16; ids outside [0, V) are
// treated as indices outside the axis.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: x, indices. outputs: y, like x but with K indices along the axis.
class GatherOp : public Op {
 public:
  explicit GatherOp(int axis) : axis_(axis) {}
  int axis() const { return axis_; }

  std::string_view name() const override { return "gather"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  int axis_;
};

// inputs: dy, indices. outputs: dx, `length` long along the axis, summed in fp32 in order of k.
class GatherBackwardOp : public Op {
 public:
  GatherBackwardOp(int axis, int64_t length) : axis_(axis), length_(length) {}
  int axis() const { return axis_; }

  std::string_view name() const override { return "gather_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;

 private:
  int axis_;
  int64_t length_;
};

struct EmbeddingAttributes {
  DType dtype = DType::f32;  // of the output
};

// inputs: ids, table. outputs: y. gradient() adds dtable in place to the gradient of the table's
// other uses.
class EmbeddingOp : public OpWith<EmbeddingAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "embedding"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, ids [, addend (V, C) fp32]. outputs: dtable + addend, summed in position order.
class EmbeddingBackwardOp : public Op {
 public:
  explicit EmbeddingBackwardOp(int64_t vocabulary) : vocabulary_(vocabulary) {}

  std::string_view name() const override { return "embedding_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int index) const override { return index == 2; }

 private:
  int64_t vocabulary_;
};

}  // namespace spire
