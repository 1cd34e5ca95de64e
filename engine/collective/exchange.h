// Exchanges between the members of a run: messages, collectives over a sharded buffer, and a table
// on the host. A member is a set of devices of one process that read each other's memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/collective/tree.h"
#include "engine/device/stream.h"
#include "engine/process/group/process_group.h"

namespace spire::inline collective {

// A member's connections to the others, in stream order: over the ProcessGroup for CPUs, over NCCL
// for GPUs. All members make the same calls in the same order, those of one process on a thread
// each. Any thread may call check() and abort(). Buffers and streams belong to the member's device.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // among the members
  virtual int size() const = 0;

  // As ProcessGroup's, after the work that the stream already has: complete on return on a CPU,
  // enqueued on a GPU. Allocate nothing after the first call of a size. Throw PeerLost.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                        Stream& stream) = 0;
  virtual void all_reduce(float* values, int64_t count, Stream& stream) = 0;

  virtual void prepare(void* memory, size_t bytes) = 0;  // registers memory of many messages
  virtual void forget(void* memory) noexcept = 0;        // before that memory is freed

  // Throws PeerLost when enqueued work cannot finish, which threads that wait for a stream poll: a
  // rank is gone, or the group was interrupted. The stream then ends with wrong values.
  virtual void check() = 0;
  // Breaks the connections of this process's members. Later calls, but these two, throw PeerLost.
  virtual void abort() noexcept = 0;
};

// A member of this process. All members have devices of one kind; no two share a GPU.
struct ExchangeEnd {
  int rank = 0;     // among all members
  DeviceId device;  // of its streams and buffers
};

// Connects this process's members (CPUs: one) with all `size` members. Blocks until all have come.
// The group carries a CPU's messages and NCCL's unique id; it outlives the result, and is null for
// one process. Throws PeerLost; Error(device) when NCCL cannot be set up.
using DeviceExchanges = std::vector<std::unique_ptr<Communicator>>;
DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      int size);
DeviceExchanges make_nccl_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                    int size);

// For processes of one member each.
std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device);

// Collectives over one flat buffer that is cut into shards, each owned by a member. All ranks make
// the same calls. They run in stream order, throw PeerLost, and allocate nothing after the first
// call. Traffic is given for B bytes and R ranks.
class ShardExchange {
 public:
  // shards[r]: elements that rank r owns, alike on every rank. A null exchange, or one rank: no-op.
  ShardExchange(std::vector<std::vector<FloatRange>> shards, Communicator* exchange,
                size_t element_bytes = sizeof(float));

  // Sends each rank's shards to all: (R - 1) / R B out and in.
  void all_gather(void* buffer, Stream& stream);
  // Sends each rank's shards to rank 0: B / R out. window, here and below: the same part of the
  // flat buffer on all ranks; `buffer` points to its first element.
  void gather(void* buffer, Stream& stream, FloatRange window = everything);
  // Sends the root's buffer to all, scattered first: 2 (R - 1) / R B out of the root.
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

// Gathers a table of fp64 numbers (losses, norms, flags), each known to one process, everywhere.
class HostAllGather {
 public:
  // owners[i]: rank that knows entry i. group: null or of one rank makes share() do nothing.
  HostAllGather(const std::vector<int>& owners, ProcessGroup* group);

  // Fills in the other ranks' entries. Every rank calls it at the same point of its step. Throws
  // PeerLost. Allocates nothing after the first call.
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
