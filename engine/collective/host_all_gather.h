// A table of fp64 numbers, each known to one process, that every process comes to know: losses and
// counts of towers, norms of chunks, flags. One small exchange; what is done with the numbers is
// then the same everywhere.
#pragma once
#include <span>
#include <vector>

#include "engine/process/group/process_group.h"

namespace spire::inline collective {

class HostAllGather {
 public:
  // owners[i]: rank that knows entry i. group: null or of one rank: share() does nothing.
  HostAllGather(const std::vector<int>& owners, ProcessGroup* group);

  // table: owners.size() entries. Every rank calls it at the same place of its step. Throws
  // PeerLost; allocates nothing after the first call.
  void share(std::span<double> table);

 private:
  struct Part {
    std::vector<size_t> entries;  // of one rank
    std::vector<double> values;   // the same, packed
  };
  ProcessGroup* group_;
  std::vector<Part> parts_;  // one a rank
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

}  // namespace spire::inline collective
