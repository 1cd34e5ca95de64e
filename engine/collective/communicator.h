// What the members of a run send each other out of their devices' memory, in the order of a
// stream's work: over the ProcessGroup for CPUs, over NCCL for GPUs. A member is a set of devices
// of one process that reach each other's memory: all of a process, or, without peer access, one
// GPU.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/stream.h"
#include "engine/process/group/process_group.h"

namespace spire::inline collective {

// One member's end; ranks are those of members, and peers, too. All members call the same at the
// same place, those of one process each from a thread of its own. exchange() and all_reduce() are
// called by one thread at a time, and done in the order of the calls, whatever streams they are on;
// check() and abort() are called by any. On GPUs buffers lie in the memory of the end's own device,
// and streams are of that device.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // As ProcessGroup's, behind the work that the stream was given: on a CPU they are done when they
  // return; on a GPU the stream has them to do. Allocate nothing after the first call of a size.
  // Throw PeerLost.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                        Stream& stream) = 0;
  virtual void all_reduce(float* values, int64_t count, Stream& stream) = 0;

  // These bytes will be sent from or received into often; until forget(), which comes before they
  // are freed.
  virtual void prepare(void* memory, size_t bytes) = 0;
  virtual void forget(void* memory) noexcept = 0;

  // For whoever waits for a stream. Throws PeerLost when what it has to do will never end: a rank
  // is gone, or the group was interrupted. After that it ends, with wrong values.
  virtual void check() = 0;
  // The same on purpose, for all members of this process: it has failed. Every later call but
  // check() and abort() throws PeerLost.
  virtual void abort() noexcept = 0;
};

// A member of this process: its rank among all, and the device whose streams come and whose memory
// holds what is sent and received. Of the same kind in all, and on GPUs of no two the same.
struct ExchangeEnd {
  int rank = 0;
  DeviceId device;
};

// The ends of this process's members, of `size` in all; on CPUs there is one a process. Blocks
// until all are there. The group carries a CPU's messages, and what NCCL needs to find its peers;
// it outlives them; null for one process. Throws PeerLost, and Error(device) when NCCL cannot be
// set up.
using DeviceExchanges = std::vector<std::unique_ptr<Communicator>>;
DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      int size);
DeviceExchanges make_nccl_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                    int size);

// Where each process is one member.
std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device);

}  // namespace spire::inline collective
