// What trainer doctor checks: each topic has what is read of the machine, and the findings that
// follow from it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
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

// Writes a temporary file into the folder, or its nearest parent that exists, syncs it to the disk,
// reads it and removes it. Drops it from the system's cache before it reads, which has no effect on
// a disk in memory.
DiskTrial try_disk(const std::filesystem::path& folder, const TrialLimits& limits = {});

// need: what checkpoints of the config's run need; none without a config. Topics: disk_space,
// disk_speed.
Findings check_disk(const DiskTrial& trial, const std::optional<CheckpointNeed>& need);

struct Hdf5Trial {
  std::string what;     // "data/train.h5, images", "a file made for this"
  std::string problem;  // why it cannot be read; empty if it can
  uint64_t bytes = 0;   // that were read
  double seconds = 0;
};

// Reads rows of the largest dataset of the file, in order.
Hdf5Trial try_hdf5(const std::filesystem::path& file, const TrialLimits& limits = {});
// Makes a small file in the folder, or its nearest parent that exists, reads and removes it.
Hdf5Trial try_made_hdf5(const std::filesystem::path& folder, const TrialLimits& limits = {});

// Topic: hdf5.
Finding check_hdf5(const Hdf5Trial& trial);

// The processor and its clocks: instruction sets that matrix products use, and the precision for
// runs that follows from them; governor and clock source.
struct Processor {
  std::string name = {};             // "AMD EPYC 9B45"
  std::string vendor = {};           // "AuthenticAMD", "GenuineIntel"; empty on Arm
  std::set<std::string> flags = {};  // as /proc/cpuinfo names them: "avx512_bf16"
  std::string clock_source = {};     // "tsc"; empty, as the next two: unknown
  // Of the first core: "powersave", "intel_pstate".
  std::string governor = {}, frequency_driver = {};
};

// root: the folder that contains proc and sys; tests have one of their own.
Processor read_processor(const std::filesystem::path& root = "/");

// Returns the names of the processor's instruction sets that products use: {"AVX2", "AVX-512",
// "AMX"}.
std::vector<std::string> instruction_sets(const Processor& processor);

// gpus: those that runs may use; they decide the precision where there are any. Topics:
// instructions, precision, governor, clock_source.
Findings check_processor(const Processor& processor, const std::vector<CudaDeviceInfo>& gpus);

// Trial copies between two GPUs, which compare the data: some boards corrupt copies that the driver
// allows, and a copy that an IOMMU or a PCIe switch swallows never ends. So trainer doctor tries
// them in child processes (trainer doctor-peers).
struct PeerCopy {
  enum class Outcome : uint8_t { untried, copied, wrong, failed, hung };

  int from = 0, to = 0;  // the N of cuda:N
  bool direct = false;   // with peer access; else through the host's memory
  Outcome outcome = Outcome::untried;
  double bytes_per_s = 0;
  std::string problem = {};  // of outcome failed
};

// Starts CUDA on all GPUs of the copies, which may take seconds. Errors show in the copies.
void start_gpus(const std::vector<PeerCopy>& copies);

// Copies 16 MiB twice, times the second copy and compares all bytes. Never throws, but may hang for
// good, also in the kernel: call it in a process of its own.
PeerCopy try_copy(PeerCopy copy);

// to_line(): a copy as one line without newline, which the child prints for its parent.
// read_copy(): reads the line; none if it is malformed.
std::string to_line(const PeerCopy& copy);
std::optional<PeerCopy> read_copy(const std::string& line);

// Returns the copies to try: each GPU to each other one, with peer access where the driver has it.
std::vector<PeerCopy> copies_between(const std::vector<CudaDeviceInfo>& gpus);

// Returns a finding for each GPU, and one for each bad copy. seconds: the limit after which a copy
// counts as hung. Topic: peer_copies.
Findings check_peers(const std::vector<PeerCopy>& copies, double seconds);

struct PeerLimits {
  double copy_seconds = 5;    // after which a copy counts as hung
  double start_seconds = 60;  // for a process to start CUDA on all GPUs
  int most_hung = 3;          // after so many hung copies the others are not tried
};

// Returns the copies with their outcomes. Throws Error(device) if no process can be started.
std::vector<PeerCopy> try_in_children(std::vector<PeerCopy> copies, const PeerLimits& limits);

// The child's part: tries the copies that the words describe ("0-1", "0+2": + with peer access) and
// prints a line when the GPUs have started, and a line after each copy. Returns the exit code.
int try_named_copies(const std::vector<std::string>& words);

}  // namespace spire
