// Shapes and gradients of reshape and flatten.
#include "kernels/ops/reshape/reshape.h"

#include <algorithm>

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

// Returns `shape` with its -1, if any, replaced so that it has `elements`; unchanged where it
// cannot be.
Shape resolved(Shape shape, int64_t elements) {
  int64_t others = 1;  // product of all dimensions but the -1
  int open = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1 && open < 0) {
      open = axis;
    } else {
      others *= shape[axis];
    }
  }
  if (open >= 0 && others > 0 && elements % others == 0) shape[open] = elements / others;
  return shape;
}

// Sets dx to dy in the shape of x: a view again.
void reshape_gradient(GradientBuilder& builder) {
  emit_gradient<ReshapeOp>(builder, 0, {builder.output_gradient(0)},
                           builder.spec(builder.input(0)).shape);
}

}  // namespace

std::vector<TensorSpec> ReshapeOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  Shape shape = resolved(shape_, inputs[0].shape.elements());
  auto dims = shape.dims();
  bool sized = std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
  expect(*this, sized && shape.elements() == inputs[0].shape.elements(),
         "cannot reshape {} to {}: they have different numbers of values", to_string(inputs[0]),
         to_string(shape_));
  return {{shape, inputs[0].dtype}};
}

void ReshapeOp::gradient(GradientBuilder& builder) const {
  reshape_gradient(builder);
}

std::vector<TensorSpec> FlattenOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const Shape& x = inputs[0].shape;
  expect(*this, x.rank() >= 1, "takes (N, ...), got {}", to_string(inputs[0]));
  int64_t features = 1;
  for (int axis = 1; axis < x.rank(); ++axis) features *= x[axis];
  return {{{x[0], features}, inputs[0].dtype}};
}

void FlattenOp::gradient(GradientBuilder& builder) const {
  reshape_gradient(builder);
}

}  // namespace spire
