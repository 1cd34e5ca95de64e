#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/pad_channels/pad_channels.h"

namespace spire::inline kernels {

namespace {

class PadChannelsCpuKernel : public Kernel {
 public:
  explicit PadChannelsCpuKernel(const KernelRequest& request)
      : threads_(request.threads),
        rows_(request.inputs[0].shape.elements() / request.inputs[0].shape.back()),
        from_(request.inputs[0].bytes() / static_cast<size_t>(rows_)),
        to_(request.outputs[0].bytes() / static_cast<size_t>(rows_)) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const std::byte*>(args.inputs[0]);
    auto y = static_cast<std::byte*>(args.outputs[0]);
    parallel_for(threads_, rows_, 256, [&](int64_t begin, int64_t end, int) {
      for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
        std::memcpy(y + row * to_, x + row * from_, from_);
        std::memset(y + row * to_ + from_, 0, to_ - from_);  // 0.0 in every float type
      }
    });
  }

 private:
  int threads_;
  int64_t rows_;
  size_t from_, to_;  // bytes of a row of x, of y
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const PadChannelsOp&, const KernelRequest& request) {
  return std::make_unique<PadChannelsCpuKernel>(request);
}

}  // namespace spire::inline kernels
