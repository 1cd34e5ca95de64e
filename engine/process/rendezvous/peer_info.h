// Who a process is and where it listens, as it tells the others while they join.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/world.h>

namespace spire::inline process {

struct PeerInfo {
  RankInfo info;
  int size = 1;                        // ranks of the run, as this process knows it
  int port = 0;                        // where it listens for other ranks
  std::vector<std::string> addresses;  // to be tried in turn
  uint64_t run = 0;                    // a number by which rank 0 tells this meeting from others
};

std::string to_text(const PeerInfo& hello);  // one line without its end
std::optional<PeerInfo> read_hello(const std::string& line);

std::string to_text(const std::vector<PeerInfo>& table);
std::optional<std::vector<PeerInfo>> read_table(const std::string& text);

}  // namespace spire::inline process
