// Gathers a table of fp64 numbers, each known to one process, on every process: losses and counts
// of towers, norms of chunks, flags. It takes one small exchange; all processes then compute with
// the same numbers.
#pragma once
#include <span>
#include <vector>

#include "engine/process/group/process_group.h"

namespace spire::inline collective {

class HostAllGather {
 public:
  // owners[i]: rank that knows entry i. group: null or of one rank makes share() do nothing.
  HostAllGather(const std::vector<int>& owners, ProcessGroup* group);

  // Fills in the entries of the other ranks. table: owners.size() entries. Collective: every rank
  // calls it at the same place of its step. Throws PeerLost. Allocates nothing after the first
  // call.
  void share(std::span<double> table);

 private:
  struct Part {
    std::vector<size_t> entries;  // indices of one rank's entries
    std::vector<double> values;   // their values, packed
  };
  ProcessGroup* group_;
  std::vector<Part> parts_;  // one a rank
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

}  // namespace spire::inline collective
