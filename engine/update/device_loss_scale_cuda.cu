#include "engine/device/cuda_launch.h"
#include "engine/optim/formulas.h"
#include "engine/update/device_loss_scale.h"
#include "engine/update/update_kernels_cuda.h"

namespace spire::inline update {
namespace {

constexpr int threads = 1024;

__global__ void __launch_bounds__(threads)
    follow_kernel(const double* squares, int64_t count, LossScaleConfig config,
                  LossScaleState* state) {
  double sum = sum_of_squares<threads>(squares, count);
  if (threadIdx.x == 0) state->record(GradientScale{0, state}.factor(sum) < 0, config);
}

}  // namespace

void follow_cuda_loss_scale(std::span<const double> squares, const LossScaleConfig& config,
                            LossScaleState* state, Stream& stream) {
  launch(follow_kernel, 1, threads, stream.native(), squares.data(),
         static_cast<int64_t>(squares.size()), config, state);
}

}  // namespace spire::inline update
