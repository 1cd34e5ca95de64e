#include <spire/collective/device_exchange.h>
#include <spire/collective/lane_arithmetic.h>
#include <spire/device/no_cuda.h>

namespace spire {

std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(Stream& stream, int) {
  refuse_cuda(stream.device().index);
}

std::unique_ptr<DeviceExchange> make_nccl_exchange(ProcessGroup&, int index) {
  refuse_cuda(index);
}

}  // namespace spire
