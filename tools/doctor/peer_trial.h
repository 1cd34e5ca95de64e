// Tries the copies between GPUs in child processes, since a copy may hang for good.
#pragma once
#include <string>
#include <vector>

#include "tools/doctor/peer_copies.h"

namespace spire {

struct PeerLimits {
  double copy_seconds = 5;    // after which a copy counts as hung
  double start_seconds = 60;  // for a process to start CUDA on all GPUs
  int most_hung = 3;          // then the others are not tried
};

// Returns the copies with their outcomes. Throws Error(device) if no process can be started.
std::vector<PeerCopy> try_in_children(std::vector<PeerCopy> copies, const PeerLimits& limits);

// The child's part: tries the copies that the words describe ("0-1", "0+2": + with peer access) and
// prints a line when the GPUs have started, and a line behind each copy.
int try_named_copies(const std::vector<std::string>& words);

}  // namespace spire
