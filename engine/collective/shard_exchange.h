// One flat buffer, cut into slices that the members of an exchange own.
#pragma once
#include <limits>
#include <vector>

#include "engine/collective/buckets.h"
#include "engine/collective/communicator.h"

namespace spire::inline collective {

class ShardExchange {
 public:
  // slices[r]: elements that rank r owns; the same list on every rank, which are those of the
  // exchange. exchange: null or of one rank: nothing is done.
  ShardExchange(std::vector<std::vector<FloatRange>> slices, Communicator* exchange,
                size_t element_bytes = sizeof(float));

  // Every rank calls the same one at the same place, in the order of the stream's work. All throw
  // PeerLost; they allocate nothing after the first call. On the wire, for a buffer of B bytes and
  // R ranks:
  void all_gather(void* buffer, Stream& stream);  // each rank's slices reach all: (R - 1) / R B out
                                                  // and in
  // The other two take a window of the flat buffer, the same on all ranks: `buffer` is where its
  // first element lies.
  void gather(void* buffer, Stream& stream, FloatRange window = everything);  // each rank's slices
                                                                              // reach rank 0: B / R
                                                                              // out
  // The root's buffer reaches all, scattered first: 2 (R - 1) / R B out of the root, less
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
