// One flat buffer of floats, cut into slices that processes own.
#pragma once
#include <vector>

#include <spire/collective/buckets.h>
#include <spire/process/process_group.h>

namespace spire {

class SliceExchange {
 public:
  // slices[r]: what rank r owns; the same list on every rank. group: null or of one rank: nothing
  // is done.
  SliceExchange(std::vector<std::vector<FloatRange>> slices, ProcessGroup* group);

  // Every rank calls the same one at the same place. All throw PeerLost; they allocate nothing
  // after the first call. On the wire, for a buffer of B bytes and R ranks:
  void all_gather(float* buffer);  // each rank's slices reach all: (R - 1) / R B out and in
  void gather(float* buffer);      // each rank's slices reach rank 0: B / R out
  // Rank 0's buffer reaches all, scattered first: 2 (R - 1) / R B out of rank 0, less elsewhere.
  void broadcast(float* buffer);

 private:
  void add(float* buffer, int owner, int from, int to);
  void run();

  std::vector<std::vector<FloatRange>> slices_;
  ProcessGroup* group_;
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

}  // namespace spire
