// Batched product on the CPU by oneDNN, with fp32 sums. A transposed operand is the plain one with
// its strides exchanged.
#include "kernels/cpu/onednn.h"
#include "kernels/kernel.h"
#include "kernels/ops/matmul/matmul.h"

namespace spire {

namespace {

using namespace onednn;
using Kind = Location::Kind;

// (batch, rows, columns) as the product sees them.
Desc matrices(const TensorSpec& spec, bool transpose) {
  int rank = spec.shape.rank();
  int64_t rows = spec.shape[rank - 2], columns = spec.shape[rank - 1];
  int64_t batch = spec.shape.elements() / (rows * columns);
  Dims plain{rows * columns, columns, 1}, exchanged{rows * columns, 1, columns};
  if (transpose) return Desc({batch, columns, rows}, data_type(spec.dtype), exchanged);
  return Desc({batch, rows, columns}, data_type(spec.dtype), plain);
}

}  // namespace

template <>
Kernel make_cpu(const MatmulOp& op, const KernelRequest& request) {
  const auto [transpose_a, transpose_b] = op.attributes();
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    Desc a = matrices(request.inputs[0], transpose_a), b = matrices(request.inputs[1], transpose_b);
    Desc y = matrices(request.outputs[0], false);
    auto desc = describe<dnnl::matmul>(kernel.engine(), attributes(), a, b, y);
    kernel.append(desc, dnnl::matmul(desc),
                  {{DNNL_ARG_SRC, a, {Kind::input, 0}},
                   {DNNL_ARG_WEIGHTS, b, {Kind::input, 1}},
                   {DNNL_ARG_DST, y, {Kind::output, 0}}});
  });
}

}  // namespace spire
