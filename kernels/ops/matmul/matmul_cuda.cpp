// Batched product on a GPU, by the engines of cuda/product.h. Both operands are activations,
// so nothing is packed.
#include "kernels/cuda/product.h"
#include "kernels/kernel.h"
#include "kernels/ops/matmul/matmul.h"

namespace spire {

template <>
Kernel make_cuda(const MatmulOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  const TensorSpec &a = request.inputs[0], &y = request.outputs[0];
  int rank = y.shape.rank();
  ProductShape shape{.m = y.shape[rank - 2],
                     .n = y.shape[rank - 1],
                     .k = a.shape[attributes.transpose_a ? rank - 2 : rank - 1],
                     .transpose_a = attributes.transpose_a,
                     .transpose_b = attributes.transpose_b,
                     .operand_dtype = a.dtype,
                     .result_dtype = y.dtype};
  // All leading axes are the batch.
  shape.batch = y.shape.elements() / (shape.m * shape.n);
  CudaProduct product = choose_product(shape, request.cuda);
  size_t bytes = product.workspace_bytes();
  auto run = [product = std::move(product)](const KernelArgs& args) {
    product.run({args.inputs[0], args.inputs[1], nullptr, args.outputs[0], args.workspace},
                args.stream);
  };
  return Kernel(std::move(run), bytes);
}

}  // namespace spire
