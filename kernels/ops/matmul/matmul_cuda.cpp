#include "kernels/nvidia/product.h"
#include "kernels/ops/matmul/matmul.h"

namespace spire::inline kernels {

namespace {

class MatmulKernel : public Kernel {
 public:
  MatmulKernel(const ProductShape& shape, const KernelRequest& request)
      : product_(shape, request.cuda) {}

  size_t workspace_bytes() const override { return product_.workspace_bytes(); }
  void run(const KernelArgs& args) override {
    product_.run({args.inputs[0], args.inputs[1], nullptr, args.outputs[0], args.workspace},
                 args.stream);
  }

 private:
  CudaProduct product_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul_cuda(const Op& op, const KernelRequest& request) {
  const auto& attributes = static_cast<const MatmulOp&>(op).attributes();
  const TensorSpec &a = request.inputs[0], &y = request.outputs[0];
  int rank = y.shape.rank();
  ProductShape shape{.m = y.shape[rank - 2],
                     .n = y.shape[rank - 1],
                     .k = a.shape[attributes.transpose_a ? rank - 2 : rank - 1],
                     .transpose_a = attributes.transpose_a,
                     .transpose_b = attributes.transpose_b,
                     .operands = a.dtype,
                     .result = y.dtype};
  shape.batch = y.shape.elements() / (shape.m * shape.n);
  return std::make_unique<MatmulKernel>(shape, request);
}

}  // namespace spire::inline kernels
