#include <spire/collective/device_exchange.h>

namespace spire {
namespace {

// A CPU's stream has nothing left to do when a call returns: the group's messages are in its order.
class HostExchange final : public DeviceExchange {
 public:
  explicit HostExchange(ProcessGroup& group) : group_(group) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream&) override {
    group_.exchange(sends, receives);
  }
  void all_reduce(float* values, int64_t count, Stream&) override {
    group_.all_reduce(values, count);
  }
  void prepare(void*, size_t) override {}
  void forget(void*) noexcept override {}
  void check() override {}
  void abort() noexcept override {}

 private:
  ProcessGroup& group_;
};

}  // namespace

std::unique_ptr<DeviceExchange> make_device_exchange(ProcessGroup& group, DeviceId device) {
  if (device.kind == DeviceKind::cuda) return make_nccl_exchange(group, device.index);
  return std::make_unique<HostExchange>(group);
}

}  // namespace spire
