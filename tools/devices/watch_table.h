// One sample of a host's devices as a table for a terminal, or as lines for a file.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/load/host_use.h"
#include "engine/device/nvml/gpu_monitor.h"

namespace spire {

struct WatchSample {
  std::chrono::system_clock::time_point time;
  GpusOfHost gpus;
  HostUse host;
};

using UserName = std::function<std::string(uint32_t user_id)>;

// A heading, a row a GPU, a row a process on one, and the cores. Lines have at most `width`
// columns: columns that do not fit are left out, the least important first.
std::vector<std::string> watch_table(const WatchSample& sample, int width, const UserName& user);

// A line a GPU, with all that is known, and one for the cores, each with the time.
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
