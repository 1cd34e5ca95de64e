// Groups the devices of a process into members: devices that read each other's memory. Members send
// each other messages.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/bucket_reducer.h"
#include "engine/collective/tree.h"
#include "engine/device/device.h"

namespace spire::inline training {

// Devices of one process that read each other's memory; other members' data comes in messages
// (engine/collective/exchange.h). A process of CPUs is one member, as is one whose GPUs all
// have peer access; otherwise each GPU is a member, with all logical devices on it.
struct Member {
  int rank = 0;       // its process
  Share devices;      // of the run, neighbours in tower order
  TowerRange towers;  // of all its devices
  int front = 0;  // device that sends and receives for the member, and whose weights are updated
                  // first; an index into the run's devices
};

// Groups the devices of a process, one list a member. peer: CudaConfig::peer. Throws Error(device)
// where `direct` is asked for and two of them do not reach each other's memory.
std::vector<std::vector<DeviceId>> group_peers(const std::vector<DeviceId>& devices,
                                               const PeerPairs& peers, CudaConfig::Peer peer);

// Describes how GPUs exchange data, and why, for the start report; empty for CPUs. members: the
// devices of each, process by process.
std::string describe_exchange(const std::vector<std::vector<std::vector<DeviceId>>>& members,
                              CudaConfig::Peer peer);

}  // namespace spire::inline training
