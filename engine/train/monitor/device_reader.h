// Readers of the state of a process's devices: what DeviceMonitor calls on its thread.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/steady_time.h"
#include "engine/device/device.h"
#include "engine/train/monitor/device_numbers.h"
#include "engine/train/placement/placement.h"
#include "engine/train/placement/rank_hardware.h"

namespace spire {

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

}  // namespace spire
