// Looks up rows of a table by id; the gradient is that of the table:
//   y[.., c] = table[ids[..], c]
//   dtable[v, c] = sum over all positions with ids[..] = v of dy[.., c]
// ids (..) i32; table (V, C) fp32 parameter; y (.., C) fp32, bf16 or fp16. An id outside [0, V)
// makes its row NaN, and adds nothing to the gradient.
#pragma once
#include <spire/op.h>

namespace spire {

struct EmbeddingAttributes {
  DType dtype = DType::f32;  // of the output
};

// inputs: ids, table. outputs: y. dtable is added in place to that of the table's other uses.
class EmbeddingOp : public OpWith<EmbeddingAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "embedding"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, ids [, addend (V, C) fp32]. outputs: dtable + addend, summed in position order.
class EmbeddingBackwardOp : public Op {
 public:
  explicit EmbeddingBackwardOp(int64_t vocabulary) : vocabulary_(vocabulary) {}

  std::string_view name() const override { return "embedding_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 2; }

 private:
  int64_t vocabulary_;
};

}  // namespace spire
