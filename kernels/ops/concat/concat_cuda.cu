// Concatenation, slices and padding on a GPU: each is a few strided moves of rows
// (cuda/vector_copy.h), which fill what lies before and behind a row with zeros.
#include "kernels/cuda/vector_copy.h"
#include "kernels/kernel.h"
#include "kernels/ops/concat/concat.h"

namespace spire {

namespace {

int64_t row_bytes(const TensorSpec& spec, int axis) {
  return static_cast<int64_t>(bytes_from_axis(spec, axis));
}

// Moves input i of the op to output 0 by moves[i].
Kernel move_rows(std::vector<RowMove> moves) {
  return [moves = std::move(moves)](const KernelArgs& args) {
    for (size_t i = 0; i < moves.size(); ++i)
      move_rows_cuda(args.stream, moves[i], args.outputs[0], args.inputs[i]);
  };
}

}  // namespace

template <>
Kernel make_cuda(const ConcatOp& op, const KernelRequest& request) {
  const TensorSpec& y = request.outputs[0];
  int axis = op.axis_of(y);
  std::vector<RowMove> moves;
  int64_t begin = 0;
  // In each row of y, the inputs' rows side by side.
  for (const TensorSpec& part : request.inputs) {
    int64_t bytes = row_bytes(part, axis);
    moves.push_back({.rows = rows_before_axis(y, axis),
                     .to_stride = row_bytes(y, axis),
                     .to_begin = begin,
                     .width = bytes,
                     .from_stride = bytes,
                     .kept = bytes});
    begin += bytes;
  }
  return move_rows(std::move(moves));
}

template <>
Kernel make_cuda(const SliceOp& op, const KernelRequest& request) {
  const int axis = op.attributes().axis;
  const int64_t begin = op.attributes().begin;
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  int64_t bytes = row_bytes(y, axis);
  return move_rows({{.rows = rows_before_axis(x, axis),
                     .to_stride = bytes,
                     .width = bytes,
                     .from_stride = row_bytes(x, axis),
                     // `begin` indices of the axis are left out.
                     .from_begin = begin * row_bytes(x, axis + 1),
                     .kept = bytes}});
}

template <>
Kernel make_cuda(const SliceBackwardOp& op, const KernelRequest& request) {
  const int axis = op.attributes().axis;
  const int64_t begin = op.attributes().begin;
  const TensorSpec &dy = request.inputs[0], &dx = request.outputs[0];
  int64_t whole = row_bytes(dx, axis), part = row_bytes(dy, axis);
  return move_rows({{.rows = rows_before_axis(dx, axis),
                     .to_stride = whole,
                     .width = whole,
                     .from_stride = part,
                     // Zeros for the indices before `begin`; more follow behind.
                     .before = begin * row_bytes(dx, axis + 1),
                     .kept = part}});
}

template <>
Kernel make_cuda(const PadChannelsOp&, const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  int axis = x.shape.rank() - 1;
  int64_t whole = row_bytes(y, axis), part = row_bytes(x, axis);
  return move_rows({{.rows = rows_before_axis(x, axis),
                     .to_stride = whole,
                     .width = whole,
                     .from_stride = part,
                     .kept = part}});
}

}  // namespace spire
