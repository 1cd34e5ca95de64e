// Exchanges messages between GPUs by NCCL. (NCCL Developer Guide: "Point-to-point communication",
// "User Buffer Registration".)
#include "engine/update/nccl_communicators.h"

namespace spire {
namespace {

class NcclExchange final : public Communicator {
 public:
  // i: index of the communicator among the process's; size: members of the run.
  NcclExchange(std::shared_ptr<NcclCommunicators> communicators, size_t i, int size)
      : communicators_(std::move(communicators)),
        communicator_(communicators_->at(i)),
        size_(size),
        last_(make_cuda_stream(communicator_.end().device.index)->make_event()) {}

  int rank() const override { return communicator_.end().rank; }
  int size() const override { return size_; }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream& stream) override;
  void all_reduce(float* values, int64_t count, Stream& stream) override;
  void prepare(void* memory, size_t bytes) override { communicator_.prepare(memory, bytes); }
  void forget(void* memory) noexcept override { communicator_.forget(memory); }
  void check() override { communicator_.check(); }
  void abort() noexcept override { communicators_->abort(); }

 private:
  std::shared_ptr<NcclCommunicators> communicators_;  // the last exchange closes them
  NcclCommunicator& communicator_;
  int size_;
  std::unique_ptr<Event> last_;  // after the last exchange, on whatever stream it was
};

// Sends and receives all messages in one NCCL group, so that no order of them can block. Leaves out
// messages of no bytes; both sides know the sizes.
void NcclExchange::exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                            Stream& stream) {
  auto on = static_cast<cudaStream_t>(stream.native());
  // A communicator's calls run in one order, also where the streams differ.
  stream.wait_for(*last_);
  communicator_.run("ncclSend, ncclRecv", [&](ncclComm_t comm) {
    ncclResult_t code = ncclSuccess;
    // Keeps the first failure, but always ends the group.
    auto note = [&](ncclResult_t result) {
      if (code == ncclSuccess && result != ncclInProgress) code = result;
    };
    note(nccl().group_start());
    for (const Incoming& message : receives) {
      if (message.bytes > 0)
        note(nccl().receive(message.data, message.bytes, ncclInt8, message.peer, comm, on));
    }
    for (const Outgoing& message : sends) {
      if (message.bytes > 0)
        note(nccl().send(message.data, message.bytes, ncclInt8, message.peer, comm, on));
    }
    ncclResult_t end = nccl().group_end();
    return code == ncclSuccess ? end : code;
  });
  stream.record(*last_);
}

void NcclExchange::all_reduce(float* values, int64_t count, Stream& stream) {
  if (count == 0) return;
  stream.wait_for(*last_);
  communicator_.run("ncclAllReduce", [&](ncclComm_t comm) {
    return nccl().all_reduce(values, values, static_cast<size_t>(count), ncclFloat, ncclSum, comm,
                             static_cast<cudaStream_t>(stream.native()));
  });
  stream.record(*last_);
}

}  // namespace

DeviceExchanges make_nccl_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                    int size) {
  auto communicators = std::make_shared<NcclCommunicators>(group, ends, size);
  DeviceExchanges exchanges;
  for (size_t i = 0; i < ends.size(); ++i)
    exchanges.push_back(std::make_unique<NcclExchange>(communicators, i, size));
  return exchanges;
}

}  // namespace spire
