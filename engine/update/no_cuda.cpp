#include "engine/device/device.h"
#include "engine/update/exchange.h"
#include "engine/update/lane_arithmetic.h"
#include "engine/update/loss_scale.h"
#include "engine/update/parameter_update.h"

namespace spire {

std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(int index, void*) {
  refuse_cuda(index);
}

DeviceExchanges make_nccl_exchanges(ProcessGroup*, std::span<const ExchangeEnd> ends,
                                    const std::vector<PeerRange>&) {
  refuse_cuda(ends.front().device.index);
}

size_t cuda_update_bytes(const ParameterUpdate::Options& options, const ParameterLayout&) {
  refuse_cuda(options.device().index);
}

std::unique_ptr<GpuUpdate> make_cuda_update(const ParameterUpdate::Options& options,
                                            const ParameterLayout&) {
  refuse_cuda(options.device().index);
}

void follow_cuda_loss_scale(std::span<const double>, const LossScaleConfig&, LossScaleState*,
                            Stream& stream) {
  refuse_cuda(stream.device().index);
}

}  // namespace spire
