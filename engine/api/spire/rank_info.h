// Identity of a rank, which each rank sends to the others at the start.
#pragma once
#include <string>
#include <vector>

namespace spire {

struct RankInfo {
  int rank = 0;
  std::string host;
  int pid = 0;
  std::vector<int> cores;  // it may run on; ranks of one host with equal cores share them out
};
std::string to_string(const RankInfo& info);  // "rank 2 (host b, pid 77)"

}  // namespace spire
