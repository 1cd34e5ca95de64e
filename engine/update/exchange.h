// Exchanges of data between the members of a run: messages, collectives over a sharded buffer, and
// gathers of a small table on the host. A member: the largest unit that needs no messages, that is
// devices of one process that read each other's memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/stream.h"
#include "engine/process/group/process_group.h"
#include "engine/update/tree.h"

namespace spire {

// A member's connections to the others: by the ProcessGroup on CPUs, by NCCL on GPUs. All members
// make the same calls in the same order. One thread at a time calls exchange() and all_reduce() of
// a member; they run in the order of the calls, on any streams. Any thread may call check(),
// abort(). Buffers and streams belong to the member's device.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // among the members
  virtual int size() const = 0;

  // As in ProcessGroup, but after the stream's present work; on a GPU only enqueued on return.
  // Allocate nothing after the first call of a size. Throw PeerLost.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                        Stream& stream) = 0;
  virtual void all_reduce(float* values, int64_t count, Stream& stream) = 0;

  virtual void prepare(void* memory, size_t bytes) = 0;  // registers memory for repeated use
  virtual void forget(void* memory) noexcept = 0;        // call it before freeing that memory

  // Throws PeerLost if enqueued work cannot finish, because a rank is gone or the group was
  // interrupted; what the stream has written is then wrong. Threads that wait for a stream poll it.
  virtual void check() = 0;
  // Breaks the connections of this process's members; later exchanges throw PeerLost.
  virtual void abort() noexcept = 0;
};

// A member of this process. All members have devices of one kind; no two share a GPU.
struct ExchangeEnd {
  int rank = 0;     // its index among all members
  DeviceId device;  // the device that has its streams and buffers
};

// Connects this process's members (one on CPUs) with all `size` members; blocks until all have
// connected. group: carries messages on CPUs and NCCL's unique id; outlives the result; null if
// there is one process. Throws PeerLost, and Error(device) if NCCL cannot be set up.
using DeviceExchanges = std::vector<std::unique_ptr<Communicator>>;
DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      int size);
DeviceExchanges make_nccl_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                    int size);

// The same, for a run whose processes have one member each.
std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device);

// Collectives over one flat buffer that is cut into shards, each owned by one rank (a
// communicator's member). All ranks make the same calls, which run in stream order, throw PeerLost,
// and allocate nothing after the first time. Traffic is given for a buffer of B bytes and R ranks.
class ShardExchange {
 public:
  // shards[r]: elements that rank r owns, the same on every rank. exchange: null if one rank.
  ShardExchange(std::vector<std::vector<FloatRange>> shards, Communicator* exchange,
                size_t element_bytes = sizeof(float));

  // Sends each rank's shards to all; each rank sends and receives (R - 1) / R * B bytes.
  void all_gather(void* buffer, Stream& stream);
  // Sends each rank's shards to rank 0; each other rank sends B / R. window, also below: the part
  // of the flat buffer to exchange, equal on all ranks; `buffer` points to its first element.
  void gather(void* buffer, Stream& stream, FloatRange window = everything);
  // Sends the root's buffer to all, by scatter and all-gather: the root sends 2 (R - 1) / R * B.
  void broadcast(void* buffer, Stream& stream, int root = 0, FloatRange window = everything);

 private:
  static constexpr FloatRange everything = {0, std::numeric_limits<int64_t>::max()};

  void add(void* buffer, int owner, int from, int to, FloatRange window = everything);
  void run(Stream& stream);

  std::vector<std::vector<FloatRange>> shards_;
  Communicator* exchange_;
  size_t element_bytes_;
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
