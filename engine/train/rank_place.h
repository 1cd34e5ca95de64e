// What the processes of a run have to compute with, each on its host.
#pragma once
#include <string>
#include <vector>

#include <spire/device/device.h>
#include <spire/device/peer_access.h>

namespace spire {

struct RankPlace {
  std::string host;
  std::vector<int> cores;            // it may use
  std::vector<CudaDeviceInfo> gpus;  // it may use; of each index, name, uuid and total_bytes
  std::string why_no_gpu;            // where there are none
  PeerPairs peers = {};              // by index, of all that it sees
};

// This process's, as if it had them for itself.
RankPlace own_place();

// Ranks of one host that see the same cores share them out; GPUs likewise, each to one rank.
std::vector<RankPlace> share_out(std::vector<RankPlace> ranks);

// For the other ranks: what they cannot see of this one's GPUs.
std::string gpus_to_text(const RankPlace& place);
void read_gpus(const std::string& text, RankPlace& place);

// "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)"
std::string list_gpus(const std::vector<CudaDeviceInfo>& gpus);

}  // namespace spire
