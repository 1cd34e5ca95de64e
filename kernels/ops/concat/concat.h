// Joins tensors along an axis, and cuts one out of a tensor: the gradient of concat is a slice for
// each input, that of a slice lies among zeros. All move bytes as they are, whatever the dtype.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: one or more tensors, equal in dtype and in all dimensions but `axis`. outputs: y.
class ConcatOp : public Op {
 public:
  // A negative axis counts from the last: -1 are the channels.
  explicit ConcatOp(int axis = -1) : axis_(axis) {}

  std::string_view name() const override { return "concat"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int axis_of(const TensorSpec& spec) const {
    return axis_ < 0 ? axis_ + spec.shape.rank() : axis_;
  }

 private:
  int axis_;
};

// inputs: x. outputs: the elements [begin, begin + length) of `axis`.
class SliceOp : public Op {
 public:
  SliceOp(int axis, int64_t begin, int64_t length) : axis_(axis), begin_(begin), length_(length) {}
  int axis() const { return axis_; }
  int64_t begin() const { return begin_; }

  std::string_view name() const override { return "slice"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  int axis_;
  int64_t begin_, length_;
};

// inputs: dy. outputs: dx, `length` long in `axis`: dy from `begin` on, and zeros.
class SliceBackwardOp : public Op {
 public:
  SliceBackwardOp(int axis, int64_t begin, int64_t length)
      : axis_(axis), begin_(begin), length_(length) {}
  int axis() const { return axis_; }
  int64_t begin() const { return begin_; }

  std::string_view name() const override { return "slice_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  int axis_;
  int64_t begin_, length_;
};

// Bytes that lie together in one step of the axes before `axis`.
size_t bytes_from_axis(const TensorSpec& spec, int axis);

}  // namespace spire::inline kernels
