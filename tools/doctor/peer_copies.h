// Copies between two GPUs, with the data compared: drivers allow what some boards corrupt, and a
// copy that an IOMMU or a PCIe switch swallows never ends. A program tries them in processes of its
// own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/run/machine/finding.h"

namespace spire {

struct PeerCopy {
  enum class Outcome : uint8_t { untried, copied, wrong, failed, hung };

  int from = 0, to = 0;  // the N of cuda:N
  bool direct = false;   // with peer access; else through the host's memory
  Outcome outcome = Outcome::untried;
  double bytes_per_s = 0;
  std::string problem = {};  // of outcome failed
};

// Starts CUDA on all GPUs of the copies, which may take seconds. Errors show in the copies.
void start_gpus(const std::vector<PeerCopy>& copies);

// Copies 16 MiB twice, times the second copy and compares all bytes. Never throws, but may hang for
// good, also in the kernel: call it in a process of its own.
PeerCopy try_copy(PeerCopy copy);

// One line without the newline, for the process that waits, and what it means; none: malformed.
std::string to_line(const PeerCopy& copy);
std::optional<PeerCopy> read_copy(const std::string& line);

// Returns the copies to try: each GPU to each other one, with peer access where the driver has it.
std::vector<PeerCopy> copies_between(const std::vector<CudaDeviceInfo>& gpus);

// seconds: the limit after which a copy counts as hung. A finding a GPU, and one for each bad copy.
// Topic: peer_copies.
Findings check_peers(const std::vector<PeerCopy>& copies, double seconds);

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
