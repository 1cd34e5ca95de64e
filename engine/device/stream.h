// Streams: a stream runs the work of one lane (a thread that drives a device, lane_team.h) in
// order. On a CPU the work is done when the call returns; on a GPU the call only submits it.
// Synchronize before the host reads or frees memory that a stream uses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/device/device.h"

namespace spire {

enum class Timing : uint8_t { off, on };  // on: the event stores the time at which it is reached

class Event {  // a point in a stream's work
 public:
  virtual ~Event() = default;
};

class Recording {  // recorded work, a CUDA graph
 public:
  virtual ~Recording() = default;
};

// One thread at a time may use a stream. If the device has failed, perhaps in earlier work, all
// functions throw Error(device), or Error(collective) if the device is lost.
class Stream {
 public:
  virtual ~Stream() = default;

  DeviceId device() const { return device_; }
  void* native() const { return native_; }  // the cudaStream_t; null for a CPU

  // Copies between memory of any devices and staging memory (allocate_staging). Other host memory
  // has been read or written when the call returns.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void fill_zero(void* memory, size_t bytes) = 0;

  // record() puts an event into the work here. wait_for() makes later work wait for the event's
  // last record(), on whichever device; it does nothing if there was none.
  virtual std::unique_ptr<Event> make_event(Timing timing = Timing::off) const = 0;
  virtual void record(Event& event) = 0;
  virtual void wait_for(const Event& event) = 0;
  virtual void await(const Event& event) = 0;  // blocks the host until the last record() is reached
  virtual bool reached(const Event& event) = 0;  // does not block; true if there was no record()
  // REQUIRES: both events have Timing::on, were recorded on this device, and have been reached.
  virtual double seconds_between(const Event& begin, const Event& end) = 0;

  virtual void synchronize() = 0;  // blocks the host until all work is done

  // Calls work() and records what it submits to this stream, only kernels and copies on devices,
  // without running it. REQUIRES: work() has run once before, unrecorded. On a CPU returns null and
  // does not call work().
  virtual std::unique_ptr<Recording> record_work(const std::function<void()>& work) = 0;
  virtual void replay(const Recording& recording) = 0;

 protected:
  explicit Stream(DeviceId device, void* native = nullptr) : device_(device), native_(native) {}

 private:
  DeviceId device_;
  void* native_;
};

// high: a GPU runs its waiting blocks before those of other streams.
enum class StreamPriority : uint8_t { normal, high };
// Throws Error(device) for an absent GPU.
std::unique_ptr<Stream> make_stream(DeviceId device,
                                    StreamPriority priority = StreamPriority::normal);
std::unique_ptr<Stream> make_cuda_stream(int index,
                                         StreamPriority priority = StreamPriority::normal);

// Makes `device` the calling thread's current device, on which it then launches kernels and makes
// streams and handles. Does nothing for a CPU.
void make_current(DeviceId device);
void make_cuda_current(int index);

// Lets kernels on these GPUs access each other's memory. Throws Error(device) if a pair cannot.
void connect_devices(std::span<const DeviceId> devices);
void connect_cuda_devices(std::span<const DeviceId> devices);

}  // namespace spire
