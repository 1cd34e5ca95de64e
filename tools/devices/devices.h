// The devices of this machine, who uses them, and the versions of their software, as lines for
// people (trainer devices, trainer version).
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/load/host_use.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "tools/arguments.h"

namespace spire {

std::string cores_line();  // the cores that this process may use

// Returns a line for each GPU that this process may use, lines with the versions of their software,
// and lines with what is wrong and its remedy: "problem  " if it ends runs on GPUs, "note     " if
// it slows them or is untested. Starts CUDA in this process, which may take seconds.
std::vector<std::string> gpu_lines();

// Returns whether this build has CUDA and finds GPUs, and the versions of CUDA's libraries: the
// first line a sentence, the others indented.
std::vector<std::string> cuda_software_lines();

// Returns a line for each GPU, by nvidia-smi's number, and one for each MIG device: "gpu 1   NVIDIA
// H200, PCI 0000:3b:00.0, GPU-1b2c...; 79.6 GiB, 69.3 GiB used, 9.7 GiB free: process 4711 (python)
// 39.1 GiB, ...".
std::vector<std::string> gpu_memory_lines(const GpuMonitor& monitor);

// trainer devices --watch: prints samples of the host's devices until Ctrl+C. Returns the exit
// code: 0 after the last sample or a signal. Throws Error(device) if stdout cannot be written.
int watch_devices(const WatchArguments& arguments);

// One sample of a host's devices as a table for a terminal, or as lines for a file.
struct WatchSample {
  std::chrono::system_clock::time_point time;
  GpusOfHost gpus;
  HostUse host;
};

using UserName = std::function<std::string(uint32_t user_id)>;

// Returns a heading, a row per GPU, a row per process on a GPU, and the cores. Lines have at most
// `width` columns: columns that do not fit are left out, the least important first.
std::vector<std::string> watch_table(const WatchSample& sample, int width, const UserName& user);

// Returns a line per GPU, with all that is known, and one for the cores, each with the time.
std::vector<std::string> watch_lines(const WatchSample& sample, const UserName& user);

// Draws tables over each other on a terminal.
class RedrawnTable {
 public:
  // Returns what to write for the next table. rows: height of the terminal; lines beyond it are
  // left out, with a line that counts them.
  std::string next(std::vector<std::string> lines, int rows);

 private:
  size_t drawn_ = 0;  // lines of the table on the screen
};

}  // namespace spire
