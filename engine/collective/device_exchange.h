// What the processes of a run send each other out of their devices' memory, in the order of a
// stream's work: over the ProcessGroup for CPUs, over NCCL for GPUs.
#pragma once
#include <memory>
#include <span>

#include <spire/device/stream.h>
#include <spire/process/process_group.h>

namespace spire {

// All ranks call the same at the same place. exchange() and all_reduce() are called by one thread
// at a time, and done in the order of the calls, whatever streams they are on; check() and abort()
// are called by any. Buffers lie where the device of the stream reaches them.
class DeviceExchange {
 public:
  virtual ~DeviceExchange() = default;
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
  // The same on purpose: this rank has failed. Every later call but check() and abort() throws
  // PeerLost.
  virtual void abort() noexcept = 0;
};

// device: whose streams come; the same kind on all ranks, and on GPUs a different one on each.
// Blocks until all ranks are there. The group carries a CPU's messages, and what NCCL needs to find
// its peers; it outlives this. Throws PeerLost, and Error(device) when NCCL cannot be set up.
std::unique_ptr<DeviceExchange> make_device_exchange(ProcessGroup& group, DeviceId device);
std::unique_ptr<DeviceExchange> make_nccl_exchange(ProcessGroup& group, int index);

}  // namespace spire
