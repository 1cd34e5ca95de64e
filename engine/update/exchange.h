// Exchanges of data between the members of a run (ownership.h): messages, collectives over a
// sharded buffer, and gathers of a small table on the host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/stream.h"
#include "engine/process/group/process_group.h"
#include "engine/update/ownership.h"

namespace spire {

// A member's connections to the others: the ProcessGroup on CPUs; on GPUs copies between peers
// (PeerRange), and NCCL to all others. All members make the same calls in the same order. One
// thread at a time calls exchange(), meet() and all_reduce() of a member; they run in the order of
// the calls, on any streams. Any thread may call check(), abort(). Buffers and streams belong to
// the member's device.
class Communicator {
 public:
  explicit Communicator(std::vector<PeerRange> peers) : peers_(std::move(peers)) {}
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // among the members
  int size() const { return static_cast<int>(peers_.size()); }
  PeerRange peers(int member) const { return peers_[static_cast<size_t>(member)]; }

  // As in ProcessGroup, but after the stream's present work; on a GPU only enqueued on return.
  // Allocate nothing after the first call of a size. Throw PeerLost.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                        Stream& stream) = 0;
  // Later work of the stream runs after all that the peers had given their streams when they called
  // meet(). Throws PeerLost.
  virtual void meet(Stream&) {}
  virtual void all_reduce(float* values, int64_t count, Stream& stream) = 0;  // REQUIRES: no peers

  // Throws PeerLost if enqueued work cannot finish, because a rank is gone or the group was
  // interrupted; what the stream has written is then wrong. Threads that wait for a stream poll it.
  virtual void check() = 0;
  // Breaks the connections of this process's members; later exchanges throw PeerLost.
  virtual void abort() noexcept = 0;

 private:
  const std::vector<PeerRange> peers_;  // of each member of the run
};

// A member of this process. All members have devices of one kind; no two share a GPU.
struct ExchangeEnd {
  int rank = 0;     // its index among all members
  DeviceId device;  // the device that has its streams and buffers
};

// Connects this process's members (one on CPUs) with all members; blocks until all have connected.
// peers: of each member of the run. group: carries messages on CPUs and NCCL's unique id; outlives
// the result; null if there is one process. Throws PeerLost, and Error(device) if NCCL cannot be
// set up.
using DeviceExchanges = std::vector<std::unique_ptr<Communicator>>;
DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      const std::vector<PeerRange>& peers);
DeviceExchanges make_nccl_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                    const std::vector<PeerRange>& peers);
// For ends that are all peers of each other. others: how each reaches the other members; empty if
// there are none.
DeviceExchanges make_peer_exchanges(std::span<const ExchangeEnd> ends,
                                    const std::vector<PeerRange>& peers, DeviceExchanges others);

// The same, for a run whose processes have one member each.
std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device);

// Collectives over one flat buffer that is cut into shards, each owned by one rank (a
// communicator's member). All ranks make the same calls, which run in stream order, throw PeerLost,
// and allocate nothing after the first time. Traffic is given for a buffer of B bytes and R ranks.
class ShardExchange {
 public:
  // shards[r]: elements that rank r owns, in order; the same on every rank. exchange: null if one
  // rank.
  ShardExchange(std::vector<std::vector<FloatRange>> shards, Communicator* exchange,
                size_t element_bytes = sizeof(float));

  // window, here and below: the part of the flat buffer to exchange, equal on all ranks; `buffer`
  // points to its first element.
  static constexpr FloatRange everything = {0, std::numeric_limits<int64_t>::max()};
  // Sends each rank's shards to all. A shard is sent once to each group of peers, one of which
  // passes it on; without groups, or in a single one, each rank sends (R - 1) / R * B bytes.
  void all_gather(void* buffer, Stream& stream, FloatRange window = everything);
  // Sends each rank's shards to the root; each other rank sends B / R.
  void gather(void* buffer, Stream& stream, int root = 0, FloatRange window = everything);
  // Sends the root's buffer to all. The root sends each other rank one of R - 1 parts, B in all;
  // then these pass them on.
  void broadcast(void* buffer, Stream& stream, int root = 0, FloatRange window = everything);

 private:
  using Shards = std::vector<FloatRange>;
  void add(void* buffer, const Shards& shards, int from, int to, FloatRange window);
  void spread(void* buffer, const std::vector<Shards>& parts, int except, FloatRange window,
              Stream& stream);
  void run(Stream& stream);

  std::vector<Shards> shards_, parts_;  // parts_: of broadcast()
  int64_t end_ = 0;                     // of the flat buffer
  Communicator* exchange_;
  size_t element_bytes_;
  std::vector<PeerRange> groups_;  // of peers, all ranks'
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

// Gathers a table of fp64 numbers (losses, norms, flags), each known to one rank, on all ranks.
class HostAllGather {
 public:
  // owners[i]: rank that knows entry i. group: may be null if there is one rank.
  HostAllGather(const std::vector<int>& owners, ProcessGroup* group);

  // Fills in the other ranks' entries; table has owners.size() entries. Every rank calls it at the
  // same point of its step. Throws PeerLost. Allocates nothing after the first call.
  void share(std::span<double> table);

 private:
  struct Part {
    std::vector<size_t> entries;  // indices of one rank's entries
    std::vector<double> values;   // their values, packed
  };
  ProcessGroup* group_;
  std::vector<Part> parts_;  // one per rank
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

}  // namespace spire
