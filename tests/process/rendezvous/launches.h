// What ranks that are threads of a test join with.
#pragma once
#include <chrono>
#include <string>

#include <spire/world.h>

#include "engine/process/socket.h"

namespace spire {

inline Deadline in_seconds(int seconds) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}

inline Deadline soon() {
  return in_seconds(60);
}

inline Launch launch_of(int rank, int size, int port) {
  Launch launch;
  launch.launcher = "torchrun";
  launch.rank = rank;
  launch.size = size;
  launch.master_address = "127.0.0.1";
  launch.master_port = port;
  launch.secret = "the ranks of this test";
  return launch;
}

inline RankInfo info_of(int rank) {
  return {rank, "host" + std::to_string(rank % 2), 100 + rank, {rank, rank + 8}};
}

}  // namespace spire
