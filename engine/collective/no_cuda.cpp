#include <spire/collective/device_exchange.h>
#include <spire/collective/lane_arithmetic.h>
#include <spire/device/no_cuda.h>

namespace spire {

std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(Stream& stream, int) {
  refuse_cuda(stream.device().index);
}

DeviceExchanges make_nccl_exchanges(ProcessGroup*, std::span<const ExchangeEnd> ends, int) {
  refuse_cuda(ends.front().device.index);
}

}  // namespace spire
