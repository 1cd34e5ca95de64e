#include "kernels/cuda/rows.h"
#include "kernels/kernel.h"
#include "kernels/ops/pad_channels/pad_channels.h"

namespace spire::inline kernels {

namespace {

class PadChannelsCudaKernel : public Kernel {
 public:
  explicit PadChannelsCudaKernel(const RowMove& move) : move_(move) {}
  void run(const KernelArgs& args) override {
    move_rows_cuda(args.stream, move_, args.outputs[0], args.inputs[0]);
  }

 private:
  RowMove move_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const PadChannelsOp&, const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  int64_t rows = x.shape.elements() / x.shape.back();
  int64_t from = static_cast<int64_t>(x.bytes()) / rows,
          to = static_cast<int64_t>(y.bytes()) / rows;
  return std::make_unique<PadChannelsCudaKernel>(
      RowMove{.rows = rows, .to_stride = to, .width = to, .from_stride = from, .kept = from});
}

}  // namespace spire::inline kernels
