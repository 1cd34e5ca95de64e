// Fully connected layer on a GPU: y = x w^T + b, dx = dy w, dw = dy^T x, each one product of
// cuda/product.h. Parameters are packed in the compute dtype. Where rows of y, and so of dy,
// are padded, y and dx are products with that many more outputs, whose weights and biases are
// zeros. A relu is a pass over y.
#include "kernels/cuda/packing.h"
#include "kernels/cuda/product.h"
#include "kernels/kernel.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/dense/dense.h"

namespace spire {

namespace {

struct DenseInputs {
  size_t a, b;
  bool bias = false;  // input 2
  std::vector<int> parameters;
  int64_t padded_outputs = 0;
  bool relu = false;  // behind
};

// A product of two inputs of the op. Parameters among them are cast, and padded to `padded_outputs`
// rows where that is not 0.
Kernel dense_product(const ProductShape& shape, const DenseInputs& inputs,
                     const KernelRequest& request) {
  CudaProduct product = choose_product(shape, request.cuda);
  size_t bytes = product.workspace_bytes();
  TensorSpec result{{shape.m, shape.n}, shape.result_dtype};  // with its padding
  std::vector<Packing> packings;
  bool as_they_lie = shape.operand_dtype == DType::f32 && inputs.padded_outputs == 0;
  if (!as_they_lie)
    for (int input : inputs.parameters)
      packings.push_back(cast_packing(input, shape.operand_dtype, request, inputs.padded_outputs));
  auto run = [=, product = std::move(product)](const KernelArgs& args) {
    product.run({args.inputs[inputs.a], args.inputs[inputs.b],
                 inputs.bias ? args.inputs[2] : nullptr, args.outputs[0], args.workspace},
                args.stream);
    if (inputs.relu) add_bias_relu_cuda(result, nullptr, true, args.outputs[0], args.stream);
  };
  return Kernel(std::move(run), bytes).reading(std::move(packings));
}

int64_t dense_rows_of(const TensorSpec& x) {
  return x.shape.elements() / x.shape.back();
}

}  // namespace

template <>
Kernel make_cuda(const DenseOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  ProductShape shape{.m = dense_rows_of(x),
                     .n = y.pitch(),
                     .k = x.shape.back(),
                     .transpose_b = true,
                     .operand_dtype = x.dtype,
                     .result_dtype = x.dtype,
                     .bias = attributes.bias};
  DenseInputs inputs{.a = 0,
                     .b = 1,
                     .bias = attributes.bias,
                     .parameters = {1},
                     .padded_outputs = y.row_pitch,
                     .relu = attributes.relu};
  if (attributes.bias) inputs.parameters.push_back(2);
  return dense_product(shape, inputs, request);
}

template <>
Kernel make_cuda(const DenseBackwardDataOp&, const KernelRequest& request) {
  const TensorSpec &dy = request.inputs[0], &dx = request.outputs[0];
  ProductShape shape{.m = dense_rows_of(dy),
                     .n = dx.shape.back(),
                     .k = dy.pitch(),
                     .operand_dtype = dy.dtype,
                     .result_dtype = dy.dtype};
  return dense_product(shape, {.a = 0, .b = 1, .parameters = {1}, .padded_outputs = dy.row_pitch},
                       request);
}

// dw = dy^T x and db, the column sums of dy. Neither reads the padding of dy.
template <>
Kernel make_cuda(const DenseBackwardWeightsOp& op, const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &dy = request.inputs[1];
  ProductShape shape{.m = dy.shape.back(),
                     .n = x.shape.back(),
                     .k = dense_rows_of(x),
                     .transpose_a = true,
                     .pitch_a = dy.row_pitch,
                     .operand_dtype = x.dtype,
                     .row_sums = op.bias()};
  if (!op.bias()) return dense_product(shape, {.a = 1, .b = 0, .parameters = {}}, request);
  Kernel sums = column_sums_cuda(dy, 1, 1);
  auto sum_rows = [&](const ProductPointers& p, void* stream) {
    const void* const inputs[] = {p.b, p.a};
    void* const outputs[] = {p.y, p.row_sums};
    sums.run({.inputs = inputs, .outputs = outputs, .workspace = p.workspace, .stream = stream});
  };
  CudaProduct product = choose_product(shape, request.cuda, {sum_rows, sums.workspace_bytes()});
  bool apart = !product.sums_rows();
  size_t bytes = std::max(product.workspace_bytes(), apart ? sums.workspace_bytes() : 0);
  auto run = [apart, product = std::move(product),
              sums = std::move(sums)](const KernelArgs& args) mutable {
    product.run({.a = args.inputs[1],
                 .b = args.inputs[0],
                 .y = args.outputs[0],
                 .workspace = args.workspace,
                 .row_sums = args.out<float>(1)},
                args.stream);
    if (apart) sums.run(args);
  };
  return Kernel(std::move(run), bytes);
}

}  // namespace spire
