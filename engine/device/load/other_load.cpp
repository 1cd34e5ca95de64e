#include "engine/device/load/other_load.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <utility>

namespace spire {

// Lines of "cpu<N> user nice system idle iowait irq softirq steal guest guest_nice" (proc(5)), of
// which user contains guest, and nice guest_nice. The first line, "cpu", is the sum.
CoreTimes read_core_times(const std::filesystem::path& root) {
  CoreTimes cores;
  std::ifstream file(root / "proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    int number = 0;
    words.ignore(3);  // "cpu"
    if (words.peek() == ' ' || !(words >> number)) continue;
    uint64_t time[8] = {}, idle = 0;
    CoreTime core;
    for (uint64_t& ticks : time) {
      words >> ticks;
      core.total += ticks;
    }
    idle = time[3] + time[4];
    core.busy = core.total - idle;
    core.nice = time[1];
    cores[number] = core;
  }
  return cores;
}

}  // namespace spire

namespace spire::inline device {
namespace {

// The 12th to 15th words behind "17 (trainer) " are the ticks of the process in user and in system
// mode, and of its children.
std::optional<double> own_ticks(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/self/stat");
  std::string line;
  std::getline(file, line);
  size_t name_end = line.rfind(')');
  if (name_end == line.npos) return std::nullopt;
  std::istringstream words(line.substr(name_end + 1));
  std::string skipped;
  for (int word = 0; word < 11; ++word) words >> skipped;
  std::array<double, 4> ticks = {};
  for (double& each : ticks) words >> each;
  return words ? std::optional(std::accumulate(ticks.begin(), ticks.end(), 0.0)) : std::nullopt;
}

}  // namespace

OtherLoad::OtherLoad(std::vector<int> cores, std::filesystem::path root)
    : cores_(std::move(cores)),
      root_(std::move(root)),
      lowered_(getpriority(PRIO_PROCESS, 0) > 0),
      before_(count()) {}

std::optional<OtherLoad::Ticks> OtherLoad::count() const {
  std::optional<double> own = own_ticks(root_);
  CoreTimes times = read_core_times(root_);
  if (!own || cores_.empty()) return std::nullopt;
  Ticks ticks{.own = *own};
  for (int core : cores_) {
    auto found = times.find(core);
    if (found == times.end()) return std::nullopt;
    const CoreTime& time = found->second;
    ticks.busy += static_cast<double>(lowered_ ? time.busy : time.busy - time.nice);
    ticks.total += static_cast<double>(time.total);
  }
  return ticks;
}

std::optional<double> OtherLoad::read() {
  std::optional<Ticks> before = std::exchange(before_, count());
  if (!before || !before_ || before_->total <= before->total) return std::nullopt;
  double share = (before_->busy - before->busy - (before_->own - before->own)) /
                 (before_->total - before->total);
  return std::clamp(share, 0.0, 1.0) * static_cast<double>(cores_.size());
}

}  // namespace spire::inline device
