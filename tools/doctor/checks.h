// What trainer doctor checks beside the processor (processor.h): each topic has what is read of the
// machine, and the findings that follow from it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "engine/device/topology.h"
#include "engine/run/machine/finding.h"
#include "engine/run/machine/limits.h"

namespace spire {

// The cores that this process may use: affinity, CPU quota, OMP_NUM_THREADS, what others use of
// them, and NUMA nodes with the GPUs that belong to them.

// Topics: affinity, cgroup_cpu, omp_num_threads.
Findings check_cores(const Topology& topology);

// others: how many of the cores other programs use; none: unknown. Topic: load.
Finding check_load(const Topology& topology, std::optional<double> others);

struct NumaNode {
  int number = 0;
  std::vector<int> cores;
  uint64_t memory_bytes = 0;
};

struct GpuOnNode {
  std::string name;  // "cuda:0", "GPU 3"
  int node = -1;     // -1: the firmware does not tell
};

struct Numa {
  std::vector<NumaNode> nodes;
  std::vector<GpuOnNode> gpus;
};

struct GpuAddress {
  std::string name, pci_bus_id;
};

// root: the folder that contains sys; tests have one of their own.
Numa read_numa(const std::vector<GpuAddress>& gpus, const std::filesystem::path& root = "/");

// cores: those that this process may use. Topic: numa.
Findings check_numa(const Numa& numa, const std::vector<int>& cores);

// The state of all GPUs of the host as the driver tells it (GpuMonitor).

// Topics: gpu_health (lost, failing, ECC errors, XIDs), gpu_clocks (why they are low), gpu_use
// (other processes), mig.
Findings check_gpus(const GpusOfHost& host);

// The software that GPUs need: driver, CUDA, its libraries, and code for the GPUs.

struct GpuSoftware {
  CudaStatus cuda;                       // the GPUs that CUDA shows to this process
  std::optional<CudaVersions> versions;  // none: a build without CUDA
  std::vector<std::string> on_bus;       // PCI addresses of NVIDIA's GPUs, with or without a driver
  std::optional<std::string> libcuda_problem = {};
};

// root: the folder that contains proc and sys; tests have one of their own. Opens NVIDIA's
// libraries where there is a GPU, but starts none.
GpuSoftware read_gpu_software(const std::filesystem::path& root = "/");

// Returns the PCI addresses of NVIDIA's display controllers.
std::vector<std::string> gpus_on_bus(const std::filesystem::path& root);

// Topics: driver, cuda, cudnn, cublas, nccl, nvrtc, architectures.
Findings check_gpu_software(const GpuSoftware& software);

// The disks of a run: room and speed of its output folder, speed of HDF5 files.

// How much a trial of a disk takes at most.
struct TrialLimits {
  uint64_t bytes = uint64_t{64} << 20;
  double seconds = 1.0;  // of writing, and again of reading; a single slow call may take longer
};

struct DiskTrial {
  std::filesystem::path folder;  // that was tried: the output folder, or where it will be made
  std::string problem;           // why the trial failed; empty if it did not
  std::optional<FileSystemSpace> space;
  double written_per_s = 0, read_per_s = 0;  // bytes; 0: not known
};

// Writes a temporary file into the folder, or the nearest that exists, with the data on the disk
// at the end, reads it and removes it. The system's cache is dropped between both where it can be:
// on a disk in memory the file is read from memory.
DiskTrial try_disk(const std::filesystem::path& folder, const TrialLimits& limits = {});

// need: of the config's run; none without a config. Topics: disk_space, disk_speed.
Findings check_disk(const DiskTrial& trial, const std::optional<CheckpointNeed>& need);

struct Hdf5Trial {
  std::string what;     // "data/train.h5, images", "a file made for this"
  std::string problem;  // why it cannot be read; empty if it can
  uint64_t bytes = 0;   // that were read
  double seconds = 0;
};

// Reads rows of the largest dataset of the file, in order.
Hdf5Trial try_hdf5(const std::filesystem::path& file, const TrialLimits& limits = {});
// Makes a small file in the folder, or the nearest that exists, reads and removes it.
Hdf5Trial try_made_hdf5(const std::filesystem::path& folder, const TrialLimits& limits = {});

// Topic: hdf5.
Finding check_hdf5(const Hdf5Trial& trial);

}  // namespace spire
