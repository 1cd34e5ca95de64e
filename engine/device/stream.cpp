#include <spire/device/stream.h>

#include <cstring>

namespace spire {
namespace {

// Nothing is left to wait for when a call returns.
class HostStream : public Stream {
 public:
  explicit HostStream(DeviceId device) : Stream(device) {}

  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void fill_zero(void* memory, size_t bytes) override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }
  std::unique_ptr<Event> make_event() const override { return std::make_unique<Event>(); }
  void record(Event&) override {}
  void wait_for(const Event&) override {}
  void await(const Event&) override {}
  bool reached(const Event&) override { return true; }
  void synchronize() override {}
  std::unique_ptr<Recording> record_work(const std::function<void()>&) override { return {}; }
  void replay(const Recording&) override {}
};

}  // namespace

std::unique_ptr<Stream> make_stream(DeviceId device) {
  if (device.kind == DeviceKind::cuda) return make_cuda_stream(device.index);
  return std::make_unique<HostStream>(device);
}

void make_current(DeviceId device) {
  if (device.kind == DeviceKind::cuda) make_cuda_current(device.index);
}

void connect_devices(std::span<const DeviceId> devices) {
  for (DeviceId device : devices) {
    if (device.kind == DeviceKind::cuda) return connect_cuda_devices(devices);
  }
}

}  // namespace spire
