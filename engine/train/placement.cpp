#include <spire/train/placement.h>

#include <fmt/ranges.h>

#include <algorithm>

#include <spire/base/error.h>
#include <spire/config/check.h>
#include <spire/config/devices.h>

namespace spire {
namespace {

struct Chosen {
  std::vector<DeviceId> devices;
  std::string note;
};

[[noreturn]] void no_cuda(const std::string& name, const CudaStatus& cuda) {
  if (!cuda.devices.empty()) {
    fail(Category::device, "{}: this build has no CUDA kernels; use devices: cpu", name);
  }
  fail(Category::device, "{}: no CUDA device: {}; use devices: cpu, or auto", name, cuda.why_none);
}

Chosen choose_devices(const RunConfig& config, const CudaStatus& cuda) {
  Chosen chosen;
  auto words = expand_devices(config.devices);
  if (words == std::vector<std::string>{"auto"}) {
    chosen.devices = {{DeviceKind::cpu, 0}};
    std::string why = cuda.why_none.empty() ? "this build has no CUDA kernels" : cuda.why_none;
    chosen.note = fmt::format("the CPU: {}", why);
    return chosen;
  }
  for (const auto& word : words) {
    DeviceId device = parse_device(word);
    if (device.kind == DeviceKind::cuda) no_cuda(word, cuda);
    chosen.devices.push_back(device);
  }
  return chosen;
}

int default_threads(const Placement& placement, const std::vector<std::vector<int>>& cores) {
  int threads = 1 << 20;
  for (size_t d = 0; d < cores.size(); ++d) {
    int towers = std::max(1, placement.devices[d].towers.size());
    threads = std::min(threads, static_cast<int>(cores[d].size()) / towers);
  }
  return std::max(1, threads);
}

void add_lanes(Placement& placement, size_t index, const std::vector<int>& cores) {
  PlacedDevice& device = placement.devices[index];
  int threads = placement.tower_threads;
  int possible = std::max(1, static_cast<int>(cores.size()) / threads);
  device.lanes = std::clamp(device.towers.size(), 1, possible);
  device.first_lane = static_cast<int>(placement.lanes.size());
  for (int lane = 0; lane < device.lanes; ++lane) {
    LaneSpec spec{device.id, {}, threads};
    for (int t = 0; t < threads; ++t) {
      spec.cores.push_back(cores[static_cast<size_t>(lane * threads + t) % cores.size()]);
    }
    TowerRange share = towers_of_lane(device.towers.size(), lane, device.lanes);
    placement.lanes.push_back(std::move(spec));
    placement.lane_device.push_back(static_cast<int>(index));
    placement.lane_towers.push_back(
        {device.towers.begin + share.begin, device.towers.begin + share.end});
  }
}

int find_parameter_device(const RunConfig& config, const Placement& placement) {
  if (config.parameter_device == "auto") return 0;
  DeviceId wanted = parse_device(config.parameter_device);
  std::vector<std::string> names;
  for (size_t i = 0; i < placement.devices.size(); ++i) {
    if (placement.devices[i].id == wanted) return static_cast<int>(i);
    names.push_back(to_string(placement.devices[i].id));
  }
  fail(Category::config, "parameter_device: {} is none of the run's devices ({})",
       config.parameter_device, fmt::join(names, ", "));
}

}  // namespace

std::string describe_cores(const std::vector<int>& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t end = i + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += text.empty() ? "" : ",";
    text += end - i > 1 ? fmt::format("{}-{}", cores[i], cores[end - 1]) : std::to_string(cores[i]);
    i = end;
  }
  return fmt::format("{} core{}: {}", cores.size(), cores.size() == 1 ? "" : "s", text);
}

Placement place_towers(const RunConfig& given, const Topology& topology, const CudaStatus& cuda,
                       std::optional<int> kept_tower_threads) {
  Chosen chosen = choose_devices(given, cuda);
  auto count = static_cast<int>(chosen.devices.size());
  RunConfig config = given;
  settle_batch(config, count);
  Placement placement;
  placement.note = chosen.note;
  placement.towers = static_cast<int>(*config.towers);
  placement.batch_size = config.batch_size;
  if (placement.towers < count) {
    fail(Category::config,
         "{} devices but only {} tower{}: some devices would have nothing to do; "
         "use at most {} devices, or more towers",
         count, placement.towers, placement.towers == 1 ? "" : "s", placement.towers);
  }
  std::vector<std::vector<int>> cores;
  for (int d = 0; d < count; ++d) {
    cores.push_back(cores_of_device(topology.cores, d, count));
    placement.devices.push_back({chosen.devices[static_cast<size_t>(d)],
                                 describe_cores(cores.back()),
                                 towers_of_lane(placement.towers, d, count)});
  }
  int threads = static_cast<int>(config.tower_threads.value_or(0));
  if (kept_tower_threads && threads && threads != *kept_tower_threads) {
    fail(Category::config,
         "tower_threads: {} but the checkpoint's run has {}; results would differ; "
         "leave it out, or start a new run",
         threads, *kept_tower_threads);
  }
  placement.tower_threads = threads              ? threads
                            : kept_tower_threads ? *kept_tower_threads
                                                 : default_threads(placement, cores);
  for (size_t d = 0; d < cores.size(); ++d) add_lanes(placement, d, cores[d]);
  placement.parameter_device = find_parameter_device(config, placement);
  return placement;
}

std::string guarantee(const Placement& placement) {
  return fmt::format("bitwise equal on any number of CPU devices up to {}, at tower_threads {}",
                     placement.towers, placement.tower_threads);
}

}  // namespace spire
