// Fully connected layer on a GPU: y = x w^T + b, dx = dy w, dw = dy^T x, each one product of
// nvidia/product.h. Parameters are packed in the compute dtype. Where rows of y, and so of dy,
// are padded, y and dx are products with that many more outputs, whose weights and biases are
// zeros. A relu is a pass over y.
#include "kernels/cuda/packing.h"
#include "kernels/kernel.h"
#include "kernels/nvidia/product.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/dense/dense.h"

namespace spire::inline kernels {

namespace {

// A product of two inputs of the op. Parameters among them are cast, and padded to `padded_outputs`
// rows where that is not 0.
class DenseProductCudaKernel : public Kernel {
 public:
  struct Inputs {
    int a, b, bias = -1;
    std::vector<int> parameters;
    int64_t padded_outputs = 0;
    bool relu = false;  // behind
  };
  DenseProductCudaKernel(const ProductShape& shape, Inputs inputs, const KernelRequest& request)
      : product_(shape, request.cuda),
        inputs_(std::move(inputs)),
        result_{{shape.m, shape.n}, shape.result} {
    bool as_they_lie = shape.operands == DType::f32 && inputs_.padded_outputs == 0;
    if (as_they_lie) return;
    for (int input : inputs_.parameters)
      packings_.push_back(cast_packing(input, shape.operands, request, inputs_.padded_outputs));
  }

  std::vector<Packing> packings() const override { return packings_; }
  size_t workspace_bytes() const override { return product_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    auto input = [&](int i) { return i < 0 ? nullptr : args.inputs[static_cast<size_t>(i)]; };
    product_.run(
        {input(inputs_.a), input(inputs_.b), input(inputs_.bias), args.outputs[0], args.workspace},
        args.stream);
    if (inputs_.relu) add_bias_relu_cuda(result_, nullptr, true, args.outputs[0], args.stream);
  }

 private:
  CudaProduct product_;
  Inputs inputs_;
  TensorSpec result_;  // with its padding
  std::vector<Packing> packings_;
};

int64_t dense_rows_of(const TensorSpec& x) {
  return x.shape.elements() / x.shape.back();
}

// dw = dy^T x and db, the column sums of dy. Neither reads the padding of dy.
class DenseBackwardWeightsCudaKernel : public Kernel {
 public:
  DenseBackwardWeightsCudaKernel(bool bias, const KernelRequest& request)
      : product_(shape_of(request), {.a = 1, .b = 0, .parameters = {}}, request) {
    if (!bias) return;
    // db is the column sum of dy, input 1, into output 1: the kernel of the bias op.
    KernelRequest sums = request;
    sums.inputs = request.inputs.subspan(1, 1);
    sums.outputs = request.outputs.subspan(1, 1);
    column_sums_ = make_cuda(BiasBackwardOp(), sums);
  }

  size_t workspace_bytes() const override {
    return std::max(product_.workspace_bytes(), column_sums_ ? column_sums_->workspace_bytes() : 0);
  }

  void run(const KernelArgs& args) override {
    product_.run(args);
    if (!column_sums_) return;
    KernelArgs sums = args;
    sums.inputs = args.inputs.subspan(1, 1);
    sums.outputs = args.outputs.subspan(1, 1);
    column_sums_->run(sums);
  }

 private:
  static ProductShape shape_of(const KernelRequest& request) {
    const TensorSpec &x = request.inputs[0], &dy = request.inputs[1];
    return {.m = dy.shape.back(),
            .n = x.shape.back(),
            .k = dense_rows_of(x),
            .transpose_a = true,
            .pitch_a = dy.row_pitch,
            .operands = x.dtype};
  }

  DenseProductCudaKernel product_;
  std::unique_ptr<Kernel> column_sums_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const DenseOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  ProductShape shape{.m = dense_rows_of(x),
                     .n = y.pitch(),
                     .k = x.shape.back(),
                     .transpose_b = true,
                     .operands = x.dtype,
                     .result = x.dtype,
                     .bias = attributes.bias};
  DenseProductCudaKernel::Inputs inputs{
      .a = 0, .b = 1, .parameters = {1}, .padded_outputs = y.row_pitch, .relu = attributes.relu};
  if (attributes.bias) {
    inputs.bias = 2;
    inputs.parameters.push_back(2);
  }
  return std::make_unique<DenseProductCudaKernel>(shape, inputs, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const DenseBackwardDataOp&, const KernelRequest& request) {
  const TensorSpec &dy = request.inputs[0], &dx = request.outputs[0];
  ProductShape shape{.m = dense_rows_of(dy),
                     .n = dx.shape.back(),
                     .k = dy.pitch(),
                     .operands = dy.dtype,
                     .result = dy.dtype};
  DenseProductCudaKernel::Inputs inputs{
      .a = 0, .b = 1, .parameters = {1}, .padded_outputs = dy.row_pitch};
  return std::make_unique<DenseProductCudaKernel>(shape, inputs, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const DenseBackwardWeightsOp& op, const KernelRequest& request) {
  return std::make_unique<DenseBackwardWeightsCudaKernel>(op.bias(), request);
}

}  // namespace spire::inline kernels
