// Identity of a rank (a process of the run), which it sends to the others at the start.
#pragma once
#include <string>
#include <vector>

#include <spire/export.h>

namespace spire {

struct RankInfo {
  int rank = 0;
  std::string host;
  int pid = 0;
  // Logical CPUs on which it may run. Ranks on one host with the same list divide it among them.
  std::vector<int> cores;
};
SPIRE_API std::string to_string(const RankInfo& info);  // "rank 2 (host b, pid 77)"

}  // namespace spire
