// Streams: work of one lane on its device, in order. On a CPU the work is done when the call
// returns; on a GPU a call only submits it. Synchronize before the host reads what a stream writes,
// or frees what it still reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/device/device.h"

namespace spire::inline device {

enum class Timing : uint8_t { off, on };  // on: an event records when it is reached

// A point in the work of a stream that others can wait for.
class Event {
 public:
  virtual ~Event() = default;
};

// Recorded work that can be replayed many times: a CUDA graph.
class Recording {
 public:
  virtual ~Recording() = default;
};

// One thread at a time uses a stream. All functions throw if the device fails, even in earlier
// work: Error(device), or Error(collective) if the device is lost.
class Stream {
 public:
  virtual ~Stream() = default;

  DeviceId device() const { return device_; }
  void* native() const { return native_; }  // the cudaStream_t; null for a CPU

  // Copies between memory of any device and staging memory of the host (allocate_staging). Other
  // host memory may only be the source; it is read before the call returns.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void fill_zero(void* memory, size_t bytes) = 0;

  // wait_for() makes later work of this stream wait for the event's last record() so far. Streams
  // of other devices may wait, too. An event that was never recorded is no wait.
  virtual std::unique_ptr<Event> make_event(Timing timing = Timing::off) const = 0;
  virtual void record(Event& event) = 0;
  virtual void wait_for(const Event& event) = 0;
  virtual void await(const Event& event) = 0;  // blocks until its last record() is reached
  // Returns true if the last record() is reached, or there was none. Does not wait.
  virtual bool reached(const Event& event) = 0;
  // REQUIRES: both events have Timing::on, were recorded on streams of this device, and are
  // reached.
  virtual double seconds_between(const Event& begin, const Event& end) = 0;

  virtual void synchronize() = 0;  // blocks until all work is done

  // Records what `work` submits to this stream, and runs none of it. `work` submits only kernels
  // and copies between device memory, and has run once unrecorded. Returns null on a CPU: no call.
  virtual std::unique_ptr<Recording> record_work(const std::function<void()>& work) = 0;
  virtual void replay(const Recording& recording) = 0;

 protected:
  explicit Stream(DeviceId device, void* native = nullptr) : device_(device), native_(native) {}

 private:
  DeviceId device_;
  void* native_;
};

// Throws Error(device) if there is no such GPU.
std::unique_ptr<Stream> make_stream(DeviceId device);
std::unique_ptr<Stream> make_cuda_stream(int index);

// Makes `device` current in this thread: kernels, streams and handles made next are for it.
void make_current(DeviceId device);
void make_cuda_current(int index);

// Enables access to each other's memory in kernels. Throws Error(device) if a pair has none.
void connect_devices(std::span<const DeviceId> devices);
void connect_cuda_devices(std::span<const DeviceId> devices);

}  // namespace spire::inline device
