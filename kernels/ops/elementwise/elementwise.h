// Elementwise ops: activations (activation.h), ops on two tensors a and b of one shape and dtype,
// and conversion of dtypes. Tensors are fp32, bf16 or fp16, computed in fp32.
//   add: y = a + b, optionally through a relu    da = db = dy, masked by y > 0 if through a relu
//   mul: y = a * b                               da = dy * b, db = dy * a
//   sub: y = a - b                               da = dy, db = -dy
//   div: y = a / b                               da = dy / b, db = -y * da
//   cast: y = x, rounded to the nearest          dx = dy, likewise
// and the gate swiglu, of the halves of one tensor's rows.
// with_functor() gives the function of an op for host and device; elementwise_cpu.cpp and
// elementwise_cuda.cu make the kernels of every op that has one.
#pragma once
#include <spire/op.h>

#include "kernels/ops/elementwise/activation.h"

namespace spire {

enum class Binary { add, mul, sub, div };

// inputs: a, b. outputs: y. relu: add alone has one.
template <Binary kind>
class BinaryOp : public Op {
 public:
  explicit BinaryOp(bool relu = false) : relu_(relu) {}
  bool relu() const { return relu_; }

  std::string_view name() const override;
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
  std::unique_ptr<Op> with_relu() const override;

 private:
  bool relu_;
};
using AddOp = BinaryOp<Binary::add>;
using MulOp = BinaryOp<Binary::mul>;
using SubOp = BinaryOp<Binary::sub>;
using DivOp = BinaryOp<Binary::div>;

// inputs: x. outputs: y, of x's shape and `dtype`.
class CastOp : public Op {
 public:
  explicit CastOp(DType dtype) : dtype_(dtype) {}

  std::string_view name() const override { return "cast"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  DType dtype_;
};

// The functors. V is float, or a vector of floats.
template <Binary kind, bool relu = false>
struct Combine {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V a, V b) const {
    if constexpr (relu)
      return Relu{}.value(a + b);
    else if constexpr (kind == Binary::add)
      return a + b;
    else if constexpr (kind == Binary::mul)
      return a * b;
    else if constexpr (kind == Binary::sub)
      return a - b;
    else
      return a / b;
  }
};

struct SameNumber {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V x) const {
    return x;
  }
};

template <Binary kind, typename Visit>
auto with_functor(const BinaryOp<kind>& op, const Visit& visit) {
  if constexpr (kind == Binary::add) {
    if (op.relu()) return visit(Combine<kind, true>{});
  }
  return visit(Combine<kind>{});
}

template <typename Visit>
auto with_functor(const CastOp&, const Visit& visit) {
  return visit(SameNumber{});
}

// Gated activation of transformers (Shazeer, "GLU Variants Improve Transformer", 2020). x has F
// columns of gates g and then F of values u:
//   y = silu(g) u    dg = dy u silu'(g)    du = dy silu(g)
// inputs: x (.., 2F). outputs: y (.., F).
class SwigluOp : public Op {
 public:
  std::string_view name() const override { return "swiglu"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, x. outputs: dx.
class SwigluBackwardOp : public Op {
 public:
  std::string_view name() const override { return "swiglu_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int index) const override { return index == 1; }
};

}  // namespace spire
