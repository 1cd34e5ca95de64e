// Conversion between dtypes: y = x, rounded to the nearest    dx = dy, likewise
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: x, fp32, bf16 or fp16. outputs: y, of x's shape and `dtype`, one of these.
class CastOp : public Op {
 public:
  explicit CastOp(DType dtype) : dtype_(dtype) {}

  std::string_view name() const override { return "cast"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  DType dtype_;
};

struct SameNumber {
  template <typename V>
  SPIRE_HOST_DEVICE V operator()(V x) const {
    return x;
  }
};

}  // namespace spire
