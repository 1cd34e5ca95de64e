#include "engine/device/device.h"
#include "engine/update/device_loss_scale.h"
#include "engine/update/parameter_update.h"

namespace spire::inline update {

size_t cuda_update_bytes(const ParameterUpdate::Options& options, const ParameterLayout&) {
  refuse_cuda(options.device().index);
}

std::unique_ptr<ParameterUpdate> make_cuda_parameter_update(const ParameterUpdate::Options& options,
                                                            const ParameterLayout&) {
  refuse_cuda(options.device().index);
}

void follow_cuda_loss_scale(std::span<const double>, const LossScaleConfig&, LossScaleState*,
                            Stream& stream) {
  refuse_cuda(stream.device().index);
}

}  // namespace spire::inline update
