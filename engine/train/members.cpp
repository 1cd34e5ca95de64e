#include "engine/train/members.h"

#include <algorithm>

#include <spire/error.h>

namespace spire::inline training {
namespace {

using Devices = std::vector<DeviceId>;

bool reach_each_other(const PeerPairs& peers, DeviceId a, DeviceId b) {
  std::pair<int, int> pair = std::minmax(a.index, b.index);
  return a == b || std::find(peers.begin(), peers.end(), pair) != peers.end();
}

bool is_one_gpu(const Devices& devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [&](DeviceId device) { return device == devices[0]; });
}

}  // namespace

// Each into the first group all of whose devices it reaches. So two logical devices of a GPU come
// into one: groups that refused the first have only grown since.
std::vector<Devices> group_peers(const Devices& devices, const PeerPairs& peers,
                                 CudaConfig::Peer peer) {
  if (devices[0].kind == DeviceKind::cpu) return {devices};
  std::vector<Devices> groups;
  for (DeviceId device : devices) {
    auto takes = [&](DeviceId other) {
      return device == other ||
             (peer != CudaConfig::Peer::nccl && reach_each_other(peers, device, other));
    };
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Devices& group_of) {
      return std::all_of(group_of.begin(), group_of.end(), takes);
    });
    if (group == groups.end()) group = groups.insert(group, Devices{});
    group->push_back(device);
  }
  if (peer == CudaConfig::Peer::direct && groups.size() > 1) {
    fail(Category::device,
         "cuda.peer: direct, but {} and {} cannot read each other's memory: neither NVLink nor "
         "PCIe peer access connects them; set cuda.peer: auto, which uses NCCL there",
         to_string(groups[0][0]), to_string(groups[1][0]));
  }
  return groups;
}

std::string describe_exchange(const std::vector<std::vector<Devices>>& members,
                              CudaConfig::Peer peer) {
  if (members[0][0][0].kind == DeviceKind::cpu) return "";
  bool direct = false;  // some GPUs read others' memory
  const std::vector<Devices>* split = nullptr;
  for (const auto& process : members) {
    for (const Devices& member : process) direct |= !is_one_gpu(member);
    if (process.size() > 1 && !split) split = &process;
  }
  const char* rest = direct ? "; the others read each other's memory" : "";
  if (split && peer == CudaConfig::Peer::nccl) return "NCCL between all GPUs (cuda.peer: nccl)";
  if (split)
    return fmt::format("NCCL, as {} and {} have no peer access{}", to_string((*split)[0][0]),
                       to_string((*split)[1][0]), rest);
  if (members.size() > 1)
    return fmt::format("NCCL between processes{}",
                       direct ? "; the GPUs of one read each other's memory" : "");
  return direct ? "peer access: GPUs read each other's memory" : "";
}

}  // namespace spire::inline training
