// Copies between two GPUs, with the data compared: drivers allow what some boards corrupt, and a
// copy that an IOMMU or a PCIe switch swallows never ends. A program tries them in processes of its
// own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/export.h>

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
SPIRE_API void start_gpus(const std::vector<PeerCopy>& copies);

// Copies 16 MiB twice, times the second copy and compares all bytes. Never throws, but may hang for
// good, also in the kernel: call it in a process of its own.
SPIRE_API PeerCopy try_copy(PeerCopy copy);

// One line without the newline, for the process that waits, and what it means; none: malformed.
SPIRE_API std::string to_line(const PeerCopy& copy);
SPIRE_API std::optional<PeerCopy> read_copy(const std::string& line);

}  // namespace spire
