// Watches the devices of this process while they train: a thread of its own reads their state every
// so many seconds, and the step loop takes the newest numbers without waiting.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/train/monitor/device_numbers.h"
#include "engine/train/monitor/device_reader.h"

namespace spire {

struct MonitorOptions {
  double every_seconds = 1;     // between the end of a reading and the next one
  std::vector<int> cores = {};  // of the thread
  double longest_age = 10;      // seconds, or five intervals if more; older readings are unknown
  double patience = 5;          // seconds that the end waits for a reading under way
};

class DeviceMonitor {
 public:
  // Starts the thread, which makes the first reading at once. Throws what start_thread() throws.
  DeviceMonitor(std::unique_ptr<DeviceReader> reader, size_t devices,
                const MonitorOptions& options);
  // Ends the thread. A call of a driver that hangs must not keep the run from its end: after
  // `patience` the thread is left to itself.
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  // Writes the newest reading to `numbers`, which has device_numbers for each device; leaves the
  // first step_numbers of each. Writes nothing before the first reading, or while the thread stores
  // one, which takes less than a microsecond. Writes unknown_number for a reading that is too old.
  // Any thread; neither allocates nor waits.
  void copy_to(std::span<double> numbers) const;

  // Returns what has failed since the last call; seldom anything. Does not wait.
  std::vector<std::string> take_problems();

  void await_readings(int64_t count) const;  // blocks until `count` were made

 private:
  struct State;  // what the thread uses, and owns as well

  std::shared_ptr<State> state_;
  std::jthread thread_;
};

// Returns a monitor of this process's devices, all of one kind.
std::unique_ptr<DeviceMonitor> watch_devices(const Placement& placement,
                                             const RankHardware& hardware, double every_seconds);

}  // namespace spire
