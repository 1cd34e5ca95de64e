// GPUs that reach each other's memory in kernels: over NVLink, or over PCIe where the driver and
// the host let them.
#pragma once
#include <utility>
#include <vector>

namespace spire::inline device {

// Each pair once, the lower index first.
using PeerPairs = std::vector<std::pair<int, int>>;

// Of GPUs 0 to count - 1 of this process. Never throws: what cannot be asked is no pair.
PeerPairs find_peers(int count);

}  // namespace spire::inline device
