// Which copies between GPUs to try, and what their outcomes mean (<spire/commands/peer_copies.h>).
#pragma once
#include <vector>

#include <spire/commands/peer_copies.h>

#include "engine/device/device.h"
#include "engine/doctor/finding.h"

namespace spire {

// Returns the copies to try: each GPU to each other one, with peer access where the driver has it.
std::vector<PeerCopy> copies_between(const std::vector<CudaDeviceInfo>& gpus);

// seconds: the limit after which a copy counts as hung. A finding a GPU, and one for each bad copy.
// Topic: peer_copies.
Findings check_peers(const std::vector<PeerCopy>& copies, double seconds);

}  // namespace spire
