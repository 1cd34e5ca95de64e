#include "engine/device/stream.h"

#include <chrono>
#include <cstring>

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

struct HostEvent : Event {
  explicit HostEvent(Timing event_timing) : timing(event_timing) {}
  Timing timing;
  Clock::time_point time;
};

// A CPU's stream. Work is done when the call returns, so there is never anything to wait for.
class HostStream : public Stream {
 public:
  explicit HostStream(DeviceId device) : Stream(device) {}

  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void fill_zero(void* memory, size_t bytes) override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }
  std::unique_ptr<Event> make_event(Timing timing) const override {
    return std::make_unique<HostEvent>(timing);
  }
  void record(Event& event) override {
    auto& mine = static_cast<HostEvent&>(event);
    if (mine.timing == Timing::on) mine.time = Clock::now();
  }
  void wait_for(const Event&) override {}
  void await(const Event&) override {}
  bool reached(const Event&) override { return true; }
  double seconds_between(const Event& begin, const Event& end) override {
    auto time = [](const Event& event) { return static_cast<const HostEvent&>(event).time; };
    return std::chrono::duration<double>(time(end) - time(begin)).count();
  }
  void synchronize() override {}
  std::unique_ptr<Recording> record_work(const std::function<void()>&) override { return {}; }
  void replay(const Recording&) override {}
};

}  // namespace

std::unique_ptr<Stream> make_stream(DeviceId device, StreamPriority priority) {
  if (device.kind == DeviceKind::cuda) return make_cuda_stream(device.index, priority);
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
