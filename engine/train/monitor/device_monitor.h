// Watches the devices of this process while they train: a thread of its own reads their state every
// so many seconds, and the step loop takes the newest numbers without waiting.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/steady_time.h"
#include "engine/device/device.h"
#include "engine/train/monitor/device_numbers.h"
#include "engine/train/placement/placement.h"
#include "engine/train/placement/rank_hardware.h"

namespace spire {

// Readers of the state of a process's devices: what DeviceMonitor calls on its thread.

// A device of this process, and how the system knows it.
struct WatchedDevice {
  DeviceId id;
  // For a GPU. If it is a MIG device, the UUID is that of the MIG device.
  std::string pci_bus_id = {}, uuid = {};
  // For a CPU: the names of its lanes' threads, the number of threads, and the cores they may use.
  std::vector<std::string> thread_names = {};
  int threads = 0;
  std::vector<int> cores = {};
};
std::vector<int> cores_of(std::span<const WatchedDevice> devices);  // of all, each once
std::vector<WatchedDevice> watched_devices(const Placement& placement,
                                           const RankHardware& hardware);

class DeviceReader {
 public:
  virtual ~DeviceReader() = default;
  // Writes the state of each device, without the numbers of the step, to `numbers`; one entry per
  // device. Appends to `problems` what has failed since the last call. May take seconds.
  virtual void read(std::span<DeviceNumbers> numbers, std::vector<std::string>& problems) = 0;
};

// root: "/", or in tests a folder with proc and sys. now: the time, in seconds.
std::unique_ptr<DeviceReader> make_cpu_reader(std::vector<WatchedDevice> devices,
                                              std::filesystem::path root,
                                              std::function<double()> now = steady_seconds);
// Opens NVML at the first read(). file: NVML's, as for GpuMonitor.
std::unique_ptr<DeviceReader> make_gpu_reader(std::vector<WatchedDevice> devices, std::string file);

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
