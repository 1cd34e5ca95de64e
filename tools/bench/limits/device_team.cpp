#include "tools/bench/limits/device_team.h"

#include <algorithm>
#include <cmath>

#include "engine/base/fail.h"
#include "engine/base/steady_time.h"
#include "engine/base/text.h"

namespace spire {
namespace {

std::vector<LaneSpec> lanes_of(Kind kind, int64_t devices, int64_t threads) {
  require(devices > 0 && threads > 0, "a team of {} devices of {} threads", devices, threads);
  std::vector<LaneSpec> lanes;
  if (kind == Kind::cuda) {
    CudaStatus cuda = discover_cuda();
    auto gpus = static_cast<int64_t>(cuda.devices.size());
    if (gpus < devices)
      fail(Category::device, "{} needed, but the machine has {}{}; ask for fewer devices",
           counted(devices, "GPU"), gpus, gpus == 0 ? " (" + cuda.why_none + ")" : "");
    for (size_t d = 0; d < static_cast<size_t>(devices); ++d)
      lanes.push_back({{DeviceKind::cuda, cuda.devices[d].index}, {}, 1});
    return lanes;
  }
  for (int d = 0; d < static_cast<int>(devices * threads); ++d)
    lanes.push_back({{DeviceKind::cpu, d}, {}, 1});
  return lanes;
}

}  // namespace

DeviceTeam::DeviceTeam(Kind kind, int64_t devices, int64_t threads,
                       const CudaLibraries::Options& cuda)
    : team_(lanes_of(kind, devices, threads)) {
  auto count = static_cast<size_t>(size());
  streams_.resize(count);
  pools_.resize(count);
  libraries_.resize(count);
  // Each on its own thread, which has the device as its current one.
  team_.lead([&] {
    team_.parallel([&](int lane) {
      auto l = static_cast<size_t>(lane);
      streams_[l] = make_stream(device(lane));
      pools_[l] = std::make_unique<MemoryPool>(device(lane));
      libraries_[l] = open_cuda_libraries(device(lane), cuda);
    });
  });
}

void DeviceTeam::run(const std::function<void(int lane)>& body) {
  seconds(1, body);
}

double DeviceTeam::seconds(int64_t calls, const std::function<void(int lane)>& body) {
  double seconds = 0;
  team_.lead([&] {
    double begin = steady_seconds();
    team_.parallel([&](int lane) {
      for (int64_t call = 0; call < calls; ++call) body(lane);
      stream(lane).synchronize();
    });
    seconds = steady_seconds() - begin;
  });
  return seconds;
}

double DeviceTeam::best_seconds(const Repeats& repeats, const std::function<void(int lane)>& body) {
  seconds(1, body);
  double once = std::max(seconds(1, body), 1e-9), best = once;
  auto calls = std::max<int64_t>(1, std::llround(repeats.round_seconds / once));
  double begin = steady_seconds();
  for (int round = 0; round < repeats.rounds || steady_seconds() - begin < repeats.seconds; ++round)
    best = std::min(best, seconds(calls, body) / static_cast<double>(calls));
  return best;
}

double DeviceTeam::best_seconds(const Repeats& repeats, const std::function<void()>& begin,
                                const std::function<void(int lane)>& body) {
  double start = steady_seconds();
  auto round = [&] {
    begin();
    return seconds(1, body);
  };
  double best = round();
  for (int i = 0; i < repeats.rounds || steady_seconds() - start < repeats.seconds; ++i)
    best = std::min(best, round());
  return best;
}

}  // namespace spire
