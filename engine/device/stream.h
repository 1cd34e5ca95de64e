// Streams: work of one lane on its device, in order. On a CPU it is done when the call returns; a
// GPU's is only submitted. Synchronize before the host reads or frees what a stream uses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/device/device.h"

namespace spire::inline device {

enum class Timing : uint8_t { off, on };  // on: an event records when it is reached

class Event {  // a point in a stream's work
 public:
  virtual ~Event() = default;
};

class Recording {  // a CUDA graph
 public:
  virtual ~Recording() = default;
};

// Used by one thread at a time. All functions throw if the device fails, even in earlier work:
// Error(device), or Error(collective) if the device is lost.
class Stream {
 public:
  virtual ~Stream() = default;

  DeviceId device() const { return device_; }
  void* native() const { return native_; }  // the cudaStream_t; null for a CPU

  // Copies between memory of any device and staging memory (allocate_staging). Other host memory
  // may only be the source; it is read before the call returns.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void fill_zero(void* memory, size_t bytes) = 0;

  // wait_for() makes later work wait for the event's last record(), on any device, if there was
  // one.
  virtual std::unique_ptr<Event> make_event(Timing timing = Timing::off) const = 0;
  virtual void record(Event& event) = 0;
  virtual void wait_for(const Event& event) = 0;
  virtual void await(const Event& event) = 0;    // blocks until its last record() is reached
  virtual bool reached(const Event& event) = 0;  // does not wait; true also if there was none
  // REQUIRES: both events have Timing::on, were recorded on this device, and are reached.
  virtual double seconds_between(const Event& begin, const Event& end) = 0;

  virtual void synchronize() = 0;  // blocks until all work is done

  // Records what `work` submits here, only kernels and copies on devices, and runs none of it.
  // REQUIRES: it has run once unrecorded. On a CPU returns null at once.
  virtual std::unique_ptr<Recording> record_work(const std::function<void()>& work) = 0;
  virtual void replay(const Recording& recording) = 0;

 protected:
  explicit Stream(DeviceId device, void* native = nullptr) : device_(device), native_(native) {}

 private:
  DeviceId device_;
  void* native_;
};

std::unique_ptr<Stream> make_stream(DeviceId device);  // throws Error(device): no such GPU
std::unique_ptr<Stream> make_cuda_stream(int index);

// Makes `device` current in this thread, for kernels, streams and handles made next.
void make_current(DeviceId device);
void make_cuda_current(int index);

// Enables access to each other's memory in kernels. Throws Error(device) if a pair has none.
void connect_devices(std::span<const DeviceId> devices);
void connect_cuda_devices(std::span<const DeviceId> devices);

}  // namespace spire::inline device
