// Ops that join tensors along an axis, cut out a slice, or append channels of zeros. The gradient
// of concat is a slice for each input, the gradient of a slice is dy surrounded by zeros, the
// gradient of the padding is the slice of the first channels. All copy elements unchanged.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: one or more tensors, equal in dtype and in all dimensions but `axis`. outputs: y.
class ConcatOp : public Op {
 public:
  // A negative axis counts from the end: -1 is the axis of channels.
  explicit ConcatOp(int axis = -1) : axis_(axis) {}

  std::string_view name() const override { return "concat"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int axis_of(const TensorSpec& spec) const {
    return axis_ < 0 ? axis_ + spec.shape.rank() : axis_;
  }

 private:
  int axis_;
};

struct SliceAttributes {
  int axis = 0;
  int64_t begin = 0, length = 0;  // indices along the axis
};

// inputs: x. outputs: y, the indices [begin, begin + length) of x along the axis.
class SliceOp : public OpWith<SliceAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "slice"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy. outputs: dx, of `length` indices along the axis: dy from index `begin` on, else
// zeros.
class SliceBackwardOp : public OpWith<SliceAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "slice_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// Appends channels of zeros to x (fp32, bf16 or fp16): y[.., c] = x[.., c] for c < C, else 0.
// inputs: x (.., C). outputs: y (.., channels), channels > C.
class PadChannelsOp : public Op {
 public:
  explicit PadChannelsOp(int64_t channels) : channels_(channels) {}

  std::string_view name() const override { return "pad_channels"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  int64_t channels_;
};

// The axes before `axis` have so many indices, each with a contiguous row of bytes of those from it
// on.
int64_t rows_before_axis(const TensorSpec& spec, int axis);
size_t bytes_from_axis(const TensorSpec& spec, int axis);

}  // namespace spire
