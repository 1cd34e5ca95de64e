#include "engine/collective/exchange.h"
#include "engine/collective/lane_arithmetic.h"
#include "engine/device/device.h"

namespace spire::inline collective {

std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(int index, void*) {
  refuse_cuda(index);
}

DeviceExchanges make_nccl_exchanges(ProcessGroup*, std::span<const ExchangeEnd> ends, int) {
  refuse_cuda(ends.front().device.index);
}

}  // namespace spire::inline collective
