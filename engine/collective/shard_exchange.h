// Collectives over one flat buffer that is cut into slices, each owned by a member.
#pragma once
#include <limits>
#include <vector>

#include "engine/collective/buckets.h"
#include "engine/collective/communicator.h"

namespace spire::inline collective {

class ShardExchange {
 public:
  // slices[r]: elements that rank r of the exchange owns; the same lists on every rank. With a null
  // exchange, or one rank, nothing is done.
  ShardExchange(std::vector<std::vector<FloatRange>> slices, Communicator* exchange,
                size_t element_bytes = sizeof(float));

  // Every rank makes the same calls in the same order. They run in stream order, throw PeerLost,
  // and allocate nothing after the first call. Traffic is given for a buffer of B bytes and R
  // ranks. Sends each rank's slices to all: (R - 1) / R B out and in.
  void all_gather(void* buffer, Stream& stream);
  // The other two may be limited to a window of the flat buffer, the same on all ranks; `buffer`
  // points to the window's first element.
  // Sends each rank's slices to rank 0: B / R out.
  void gather(void* buffer, Stream& stream, FloatRange window = everything);
  // Sends the root's buffer to all, scattered first: 2 (R - 1) / R B out of the root, less
  // elsewhere.
  void broadcast(void* buffer, Stream& stream, int root = 0, FloatRange window = everything);

 private:
  static constexpr FloatRange everything = {0, std::numeric_limits<int64_t>::max()};

  void add(void* buffer, int owner, int from, int to, FloatRange window = everything);
  void run(Stream& stream);

  std::vector<std::vector<FloatRange>> slices_;
  Communicator* exchange_;
  size_t element_bytes_;
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

}  // namespace spire::inline collective
