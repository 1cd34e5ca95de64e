// Messages and all-reduces between the members of a run, in stream order: over the ProcessGroup for
// CPUs, over NCCL for GPUs. A member is a set of devices of one process that reach each other's
// memory: all devices of the process, or one GPU where there is no peer access.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/stream.h"
#include "engine/process/group/process_group.h"

namespace spire::inline collective {

// One member's end of the connections; ranks and peers number members. All members make the same
// calls in the same order; the members of one process use a thread each. One thread at a time calls
// exchange() and all_reduce(), which run in the order of the calls on any streams. Any thread may
// call check() and abort(). On GPUs buffers and streams belong to the end's device.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // As ProcessGroup's, after the work that the stream already has. On a CPU they are complete when
  // they return; on a GPU they are enqueued. They allocate nothing after the first call of a size.
  // Throw PeerLost.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                        Stream& stream) = 0;
  virtual void all_reduce(float* values, int64_t count, Stream& stream) = 0;

  // Registers memory that many messages use. Call forget() before the memory is freed.
  virtual void prepare(void* memory, size_t bytes) = 0;
  virtual void forget(void* memory) noexcept = 0;

  // Throws PeerLost when the enqueued work cannot finish: a rank is gone, or the group was
  // interrupted. The stream then ends with wrong values. Threads that wait for a stream poll this.
  virtual void check() = 0;
  // Breaks the connections of all members of this process, which has failed. Every later call but
  // check() and abort() throws PeerLost.
  virtual void abort() noexcept = 0;
};

// A member of this process: its rank among all members, and the device of its streams and buffers.
// All members have devices of one kind; no two members share a GPU.
struct ExchangeEnd {
  int rank = 0;
  DeviceId device;
};

// Makes the ends of this process's members, of `size` members in all; on CPUs a process has one.
// Blocks until all members have come. The group carries a CPU's messages and NCCL's unique id; it
// outlives the ends, and is null for one process. Throws PeerLost, and Error(device) when NCCL
// cannot be set up.
using DeviceExchanges = std::vector<std::unique_ptr<Communicator>>;
DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      int size);
DeviceExchanges make_nccl_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                    int size);

// The same for runs whose processes are one member each.
std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device);

}  // namespace spire::inline collective
