// A stream: work of one lane on its device, in order. A CPU does it before the call returns; the
// calls of a GPU only put it there. Whoever reads on the host what a stream has made, or takes away
// what it still reads, synchronises first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/device/device.h"

namespace spire::inline device {

// Whether an event notes when it is reached.
enum class Timing : uint8_t { off, on };

// A point in the work of a stream, which others can wait for.
class Event {
 public:
  virtual ~Event() = default;
};

// Work that was recorded once and can be done many times.
class Recording {
 public:
  virtual ~Recording() = default;
};

// One thread at a time uses a stream. All throw where the device fails, be it in earlier work:
// Error(device), or Error(collective) for a device that is lost.
class Stream {
 public:
  virtual ~Stream() = default;

  DeviceId device() const { return device_; }
  void* native() const { return native_; }  // the cudaStream_t; null for a CPU

  // Between memory of any device, and the host's (allocate_staging). What lies in other host memory
  // is read before the call returns, and may only be read.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void fill_zero(void* memory, size_t bytes) = 0;

  // An event that was never recorded is no wait. Waiting is for what was recorded last when
  // wait_for() is called; streams of other devices may wait, too.
  virtual std::unique_ptr<Event> make_event(Timing timing = Timing::off) const = 0;
  virtual void record(Event& event) = 0;
  virtual void wait_for(const Event& event) = 0;
  // Returns when what was recorded last is done.
  virtual void await(const Event& event) = 0;
  // Whether what was recorded last is done; true of an event that never was. Does not wait.
  virtual bool reached(const Event& event) = 0;
  // From one to the other, both with Timing::on, recorded on streams of this device, and reached.
  virtual double seconds_between(const Event& begin, const Event& end) = 0;

  // Returns when all the work is done.
  virtual void synchronize() = 0;

  // Keeps what `work` gives this stream in place of doing it; `work` gives it nothing but kernels,
  // and copies between memory of devices, and must have run once without being recorded. Null where
  // nothing can be recorded, on a CPU: `work` is not called then.
  virtual std::unique_ptr<Recording> record_work(const std::function<void()>& work) = 0;
  virtual void replay(const Recording& recording) = 0;

 protected:
  explicit Stream(DeviceId device, void* native = nullptr) : device_(device), native_(native) {}

 private:
  DeviceId device_;
  void* native_;
};

// Throws Error(device) for a GPU that is not there.
std::unique_ptr<Stream> make_stream(DeviceId device);
std::unique_ptr<Stream> make_cuda_stream(int index);

// What this thread prepares from now on (kernels, streams, library handles) is for `device`.
void make_current(DeviceId device);
void make_cuda_current(int index);

// Lets devices read and write each other's memory in kernels. Throws Error(device) where two of
// them cannot.
void connect_devices(std::span<const DeviceId> devices);
void connect_cuda_devices(std::span<const DeviceId> devices);

}  // namespace spire::inline device
