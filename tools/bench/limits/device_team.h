// Runs and times the same work on several devices at once, to measure a machine's upper limits
// (ceilings). As in training, threads called lanes drive the devices. A lane on a CPU is one
// thread, which the system may run on any core.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "kernels/cuda/libraries.h"
#include "tools/bench/report/bench_report.h"

namespace spire {

// How long one quantity is measured: a warm-up, then rounds of about `round_seconds` until
// `seconds` have passed, at least `rounds`. The fastest round counts.
struct Repeats {
  double round_seconds = 0.01;
  double seconds = 0.06;
  int rounds = 3;
};

class DeviceTeam {
 public:
  // threads: lanes of a device that is a CPU; a GPU has one lane. Throws Error(device) for fewer
  // GPUs than `devices`. REQUIRES: devices > 0, threads > 0.
  DeviceTeam(Kind kind, int64_t devices, int64_t threads = 1,
             const CudaLibraries::Options& cuda = {});

  int size() const { return team_.size(); }
  DeviceId device(int lane) const { return team_.spec(lane).device; }
  Stream& stream(int lane) { return *streams_[static_cast<size_t>(lane)]; }
  MemoryPool& pool(int lane) { return *pools_[static_cast<size_t>(lane)]; }
  CudaLibraries* libraries(int lane) { return libraries_[static_cast<size_t>(lane)].get(); }

  // Calls body(lane) on all lanes at once; returns when the devices' work is done, too.
  void run(const std::function<void(int lane)>& body);

  // Returns the seconds of one call of body(lane) on all lanes at once, in the fastest round: from
  // the start of the first lane to the end of the last.
  double best_seconds(const Repeats& repeats, const std::function<void(int lane)>& body);
  // As above, but calls begin() on the calling thread before each body(); its time does not count.
  // A round is one call of each.
  double best_seconds(const Repeats& repeats, const std::function<void()>& begin,
                      const std::function<void(int lane)>& body);

 private:
  double seconds(int64_t calls, const std::function<void(int lane)>& body);

  LaneTeam team_;
  std::vector<std::unique_ptr<Stream>> streams_;  // one per lane, as the next two
  std::vector<std::unique_ptr<MemoryPool>> pools_;
  std::vector<std::unique_ptr<CudaLibraries>> libraries_;  // null on CPUs
};

}  // namespace spire
