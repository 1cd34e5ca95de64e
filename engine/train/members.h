// Which devices work on each other's memory, and which send messages.
#pragma once
#include <string>
#include <vector>

#include "engine/collective/bucket_reducer.h"
#include "engine/collective/tree.h"
#include "engine/device/device.h"

namespace spire::inline training {

// Devices of one process that reach each other's memory; what lies on others comes in messages
// (communicator.h). A process of CPUs is one member, as is one of GPUs that all have peer access
// to each other; without that each GPU is one, with all logical devices on it.
struct Member {
  int rank = 0;       // its process
  Share devices;      // of the run, neighbours in tower order
  TowerRange towers;  // of all of them
  int front = 0;      // the one whose memory is sent from and received into, and whose weights are
                      // renewed first; an index into the run's devices
};

// The devices of a process, a list a member. peer: CudaConfig::peer. Throws Error(device) where
// `direct` is asked for and two of them do not reach each other's memory.
std::vector<std::vector<DeviceId>> group_peers(const std::vector<DeviceId>& devices,
                                               const PeerPairs& peers, const std::string& peer);

// How GPUs meet, and why, for the start block; empty where there is nothing to say. members: the
// devices of each, process by process.
std::string describe_exchange(const std::vector<std::vector<std::vector<DeviceId>>>& members,
                              const std::string& peer);

}  // namespace spire::inline training
