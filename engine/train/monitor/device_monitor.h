// Watches the devices of this process while they train: a thread of its own reads their state every
// so many seconds, and the step loop takes the newest numbers without waiting.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/train/monitor/device_numbers.h"
#include "engine/train/monitor/device_reader.h"

namespace spire::inline training {

struct MonitorOptions {
  double every_seconds = 1;     // between the end of a reading and the next one
  std::vector<int> cores = {};  // of the thread
};

class DeviceMonitor {
 public:
  // Starts the thread, which makes the first reading at once. Throws what start_thread() throws.
  DeviceMonitor(std::unique_ptr<DeviceReader> reader, size_t devices,
                const MonitorOptions& options);
  // Ends the thread. Waits for a reading under way, which a GPU that fails may hold for seconds.
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  // Writes the newest readings, all but the arrivals, to `numbers`, which has device_numbers for
  // each device; writes nothing before the first. Any thread; neither allocates nor waits: while
  // the thread writes a reading, which takes less than a microsecond, the entries stay as they are.
  void copy_to(std::span<double> numbers) const;

  // Returns what has failed since the last call; seldom anything. Does not wait.
  std::vector<std::string> take_problems();

  void await_readings(int64_t count) const;  // blocks until so many were made

 private:
  void run();
  bool make_reading();

  const std::unique_ptr<DeviceReader> reader_;
  const double every_seconds_;
  std::vector<DeviceNumbers> reading_;  // of the thread alone

  mutable std::mutex newest_mutex_;
  std::vector<DeviceNumbers> newest_;  // guarded by newest_mutex_, as the next
  std::vector<std::string> problems_;
  std::atomic<bool> has_problems_{false};
  std::atomic<int64_t> readings_{0};

  std::mutex stop_mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;  // guarded by stop_mutex_

  std::jthread thread_;  // last: ends before what it uses
};

// Returns a monitor of this process's devices, all of one kind.
std::unique_ptr<DeviceMonitor> watch_devices(const Placement& placement,
                                             const RankHardware& hardware, double every_seconds);

}  // namespace spire::inline training
