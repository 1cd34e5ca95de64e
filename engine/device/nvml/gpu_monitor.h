// All GPUs of the host and their state, as NVIDIA's driver tells them: also those that this process
// may not use, and without touching CUDA. Read through NVML, a library of the driver that is opened
// when it is needed. (NVML API Reference Guide; what numbers mean is said there.)
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"

namespace spire {

enum class GpuCondition : uint8_t {
  works,
  failing,  // answers with errors
  lost,     // fell off the bus: unreachable until the machine restarts
};

struct GpuMemory {                         // bytes
  uint64_t total = 0, used = 0, free = 0;  // the rest is the driver's own
};

struct MigDevice {  // a part of a GPU that has its own memory (Multi-Instance GPU)
  int number = 0;   // nvidia-smi's, within the GPU
  std::string name;
  std::string uuid;  // "MIG-..."
  std::optional<int> gpu_instance, compute_instance;
  std::optional<GpuMemory> memory;  // when the monitor was opened
};

struct HostGpu {
  int number = 0;          // nvidia-smi's: counts all GPUs in PCI order
  std::string name;        // "NVIDIA H200"; this and the next two are empty if the GPU told none
  std::string uuid;        // "GPU-..."
  std::string pci_bus_id;  // "0000:3b:00.0", lower case, with a domain of four digits
  std::optional<int> minor_number;  // its file is /dev/nvidia<minor_number>
  std::optional<bool> mig;          // MIG mode is on; none: this GPU has no such mode
  std::vector<MigDevice> mig_devices;
  GpuCondition condition = GpuCondition::works;
  std::string problem;  // why it does not work
};

enum class ThrottleReason : uint8_t {  // why clocks are below their maximum
  idle,
  clock_setting,
  power_cap,
  hardware_slowdown,  // heat or power; the board brakes
  sync_boost,
  heat,
  hardware_heat,
  power_brake,
  display_clock,
  board_limit,
  reliability,
};
std::string_view to_string(ThrottleReason reason);  // returns "power cap"

// One reading. A value that the GPU or its driver does not offer is empty, never 0. Of a lost GPU
// only last_xid is set.
struct GpuState {
  GpuCondition condition = GpuCondition::works;
  std::string problem;  // why it does not work, or the first value that failed

  std::optional<GpuMemory> memory;
  std::vector<std::optional<GpuMemory>> mig_memory;  // of HostGpu::mig_devices, in their order

  std::optional<int> compute_percent;  // share of the last 1/6 to 1 s in which a kernel ran
  std::optional<int> memory_percent;   // the same, in which memory was read or written
  std::optional<int> celsius;
  std::optional<double> watts, limit_watts;
  std::optional<int> sm_mhz, max_sm_mhz, memory_mhz, max_memory_mhz;
  std::optional<std::vector<ThrottleReason>> throttle_reasons;  // in the order of the enum

  // Counters: ECC errors and bytes since the driver was loaded or the GPU was reset.
  std::optional<uint64_t> ecc_corrected, ecc_uncorrected;
  std::optional<uint64_t> nvlink_sent, nvlink_received;  // bytes of data over all links
  std::optional<double> joules;                          // with MIG, of the whole GPU
  std::optional<int> last_xid;  // the driver's last error code since the monitor's first state()
};

// Returns the index of a MIG device in HostGpu::mig_devices; none for the UUID of another one, or
// of a whole GPU.
std::optional<size_t> mig_index(const HostGpu& gpu, std::string_view uuid);
// Returns the memory of that MIG device, or of the whole GPU.
std::optional<GpuMemory> memory_of(const GpuState& state, std::optional<size_t> mig);

struct GpuProcess {  // a process that computes on a GPU
  int64_t pid = 0;
  std::string name;                 // of its program; empty: gone, or of another pid namespace
  std::optional<uint32_t> user_id;  // its owner; empty where `name` is
  std::optional<uint64_t> bytes;    // memory on the GPU
  std::optional<int> gpu_instance, compute_instance;  // its MIG device
};

// Nothing here throws: a machine without a driver and a GPU that fails are normal. Any threads may
// call any functions at once.
// Cost: opening takes from milliseconds to seconds (the driver starts GPUs that nobody uses);
// state() makes about 15 calls of the driver, joules() one. NVLink's counters and processes() are
// the slow ones. A failing GPU can hold any call for seconds: do not call it from code that a
// training step waits for.
class GpuMonitor {
 public:
  static constexpr const char* default_file = "libnvidia-ml.so.1";

  // file: NVML's; "" is the one that the variable SPIRE_NVML names, else default_file.
  // root: the folder with proc, for names of processes; tests replace it.
  explicit GpuMonitor(const std::string& file = "", const std::filesystem::path& root = "/");
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  // Returns why there is no GPU, and what to do; empty if there is one.
  const std::string& why_none() const { return why_none_; }
  const std::string& driver_version() const { return driver_version_; }  // "550.54.15", or ""

  // All GPUs of the host when the monitor was opened; gpus()[i].number == i.
  const std::vector<HostGpu>& gpus() const { return gpus_; }
  const HostGpu* find(std::string_view pci_bus_id) const;  // in any form; null: there is none

  // number: HostGpu::number; for one that does not exist returns GpuCondition::failing.
  GpuState state(int number) const;
  std::optional<double> joules(int number) const;  // GpuState::joules alone
  // Returns nullopt if the driver does not tell, which is not the same as none.
  std::optional<std::vector<GpuProcess>> processes(int number) const;

 private:
  class Nvml;  // the open library
  HostGpu describe(int number);

  std::unique_ptr<Nvml> nvml_;  // null: there is no GPU
  std::filesystem::path root_;
  std::string why_none_, driver_version_;
  std::vector<HostGpu> gpus_;
};

// Returns a user's name, or the number where there is none. Looking it up may ask a server.
std::string user_name(uint32_t user_id);

struct GpuHealth {
  HostGpu gpu;
  GpuState state;
  std::optional<std::vector<GpuProcess>> processes;  // none: the driver does not tell
};

struct GpusOfHost {
  std::string why_none;  // empty if there is a GPU
  std::vector<GpuHealth> gpus;
};

// Reads the state and the processes of all GPUs; takes milliseconds, seconds if a GPU fails.
GpusOfHost read_gpus(const GpuMonitor& monitor);

// Energy counters of the GPUs of a run, added up (since Volta).
class GpuEnergy {
 public:
  // gpus: one per logical device; a GPU that several name counts once. Counts no GPU at all if NVML
  // or the counter of any GPU is missing: a sum of only some would mislead. Never throws. file: as
  // in GpuMonitor.
  explicit GpuEnergy(const std::vector<CudaDeviceInfo>& gpus, const std::string& file = "");

  int64_t count() const;  // number of GPUs that are counted
  // Returns the joules of all counted GPUs since the driver was loaded; nullopt if one failed or
  // count() is 0. With MIG the counter is that of the whole GPU.
  std::optional<double> joules() const;

 private:
  std::unique_ptr<GpuMonitor> monitor_;  // null: no GPUs
  std::vector<int> numbers_;             // nvidia-smi's
};

}  // namespace spire
