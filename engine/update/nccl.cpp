// Exchanges between GPUs by NCCL: a communicator for each of a process's members (exchange.h). Each
// is used on a thread of its own, so that no call waits for a later call of the same thread. They
// are non-blocking: a call that returns ncclInProgress is polled until it ends or the ProcessGroup
// is interrupted. (NCCL Developer Guide: "Fault Tolerance", "Group Calls", "Point-to-point
// communication".)
#include <cstring>
#include <mutex>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/device/cuda_error.h"
#include "engine/update/exchange.h"
#include "engine/update/nccl_calls.h"

namespace spire {
namespace {

// Broadcasts rank 0's unique id of the communicators to all processes.
ncclUniqueId share_id(ProcessGroup* group) {
  ncclUniqueId id = {};
  if ((!group || group->rank() == 0) && nccl().unique_id(&id) != ncclSuccess)
    fail(Category::device, "ncclGetUniqueId: {}", nccl().last_error(nullptr));
  if (!group) return id;
  std::string bytes = broadcast(*group, {id.internal, sizeof id.internal});
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  return id;
}

class NcclCommunicator {
 public:
  NcclCommunicator(ProcessGroup* group, const ExchangeEnd& end) : group_(group), end_(end) {}

  const ExchangeEnd& end() const { return end_; }

  // Runs body(ncclComm_t), which returns the result of the first NCCL call that failed, else of the
  // last. Returns when its calls have completed. call: name for messages. Throws PeerLost.
  template <typename Body>
  void run(const char* call, const Body& body) {
    CurrentCudaDevice current(end_.device.index);
    ncclResult_t code = ncclSuccess;
    {
      std::lock_guard lock(mutex_);
      expect_usable();
      code = body(comm_);
    }
    finish(code, call);
  }
  // Initialize the communicator: begin() does not wait for other members, finish() does.
  ncclResult_t begin(const ncclUniqueId& id, int size);
  void finish(ncclResult_t code, const char* call);

  void check();  // as Communicator::check(); likewise abort()
  void abort() noexcept;
  void destroy() noexcept;  // call it after ncclCommFinalize

 private:
  void expect_usable() const;
  [[noreturn]] void lose(const std::string& message);
  std::string words_of(ncclResult_t code, const char* call) const;

  ProcessGroup* const group_;  // null if there is one process
  const ExchangeEnd end_;
  std::mutex mutex_;           // guards the members below; not locked while NCCL is polled
  ncclComm_t comm_ = nullptr;  // null before begin(), and after an abort
  std::string lost_;           // why connections were lost; empty if they were not
};

class NcclCommunicators {
 public:
  // Blocks until all `size` members of the run have connected. Throws PeerLost, Error(device).
  NcclCommunicators(ProcessGroup* group, std::span<const ExchangeEnd> ends, int size);
  ~NcclCommunicators();  // waits for members that are still receiving
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  NcclCommunicator& at(size_t i) { return *all_[i]; }
  void abort() noexcept;

 private:
  void set_up(const ncclUniqueId& id, int size);
  void close();

  std::vector<std::unique_ptr<NcclCommunicator>> all_;
};

std::string NcclCommunicator::words_of(ncclResult_t code, const char* call) const {
  std::string place = to_string(end_.device);
  if (group_) place = fmt::format("rank {}, {}", group_->rank(), place);
  return fmt::format("{}: {}: {} ({})", place, call, nccl().error_string(code),
                     nccl().last_error(comm_));
}

void NcclCommunicator::expect_usable() const {
  if (!comm_) throw PeerLost(lost_);
}

ncclResult_t NcclCommunicator::begin(const ncclUniqueId& id, int size) {
  CurrentCudaDevice current(end_.device.index);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // calls return ncclInProgress instead of waiting for other ranks
  return nccl().init(&comm_, size, id, end_.rank, &config);
}

// Polls until the call has completed. REQUIRES: mutex_ is not held.
void NcclCommunicator::finish(ncclResult_t code, const char* call) {
  for (Backoff pauses; code == ncclInProgress; pauses.pause()) {
    if (group_ && group_->interrupted()) lose("interrupted because the run has failed");
    std::lock_guard lock(mutex_);
    expect_usable();
    nccl().async_error(comm_, &code);
  }
  if (code != ncclSuccess) lose(words_of(code, call));
}

void NcclCommunicator::lose(const std::string& message) {
  abort();
  CurrentCudaDevice current(end_.device.index);
  check_device("NCCL");  // the cause, where it is this rank's own
  throw PeerLost(message);
}

void NcclCommunicator::abort() noexcept {
  std::lock_guard lock(mutex_);
  lost_ = "the exchange between the GPUs was aborted because the run has failed";
  if (!comm_) return;
  nccl().abort(comm_);
  comm_ = nullptr;
}

void NcclCommunicator::destroy() noexcept {
  std::lock_guard lock(mutex_);
  if (comm_) nccl().destroy(comm_);
  comm_ = nullptr;
}

void NcclCommunicator::check() {
  ncclResult_t code = ncclSuccess;
  {
    std::lock_guard lock(mutex_);
    expect_usable();
    nccl().async_error(comm_, &code);
  }
  if (code != ncclSuccess && code != ncclInProgress) lose(words_of(code, "ncclCommGetAsyncError"));
  if (group_ && group_->interrupted()) lose("interrupted because the run has failed");
}

NcclCommunicators::NcclCommunicators(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                     int size) {
  for (const ExchangeEnd& end : ends)
    all_.push_back(std::make_unique<NcclCommunicator>(group, end));
  ncclUniqueId id = share_id(group);
  try {
    set_up(id, size);
  } catch (const PeerLost& lost) {
    abort();
    if (group && group->interrupted()) throw;
    std::string_view words = lost.what();
    if (words.find("Duplicate GPU") != words.npos)
      fail(Category::device,
           "{}; NCCL takes each GPU once: give each process GPUs of its own, also where a GPU is "
           "cut into MIG slices, or let one process have it (devices: [cuda:0, cuda:0])",
           words);
    fail(Category::device, "{}; set NCCL_DEBUG=INFO in the environment for details", words);
  } catch (...) {
    abort();
    throw;
  }
}

// Initializes all in one group: this thread begins them, and each waits for the others.
void NcclCommunicators::set_up(const ncclUniqueId& id, int size) {
  nccl().group_start();
  for (auto& communicator : all_) communicator->begin(id, size);
  ncclResult_t code = nccl().group_end();
  if (code == ncclSuccess) code = ncclInProgress;  // each is polled by itself below
  for (auto& communicator : all_) communicator->finish(code, "ncclCommInitRankConfig");
}

NcclCommunicators::~NcclCommunicators() {
  try {
    close();
  } catch (const Error&) {  // the group was interrupted, or a communicator aborted
    abort();
  }
}

void NcclCommunicators::close() {
  // One thread closes them all, so all begin before any is waited for.
  for (auto& communicator : all_) {
    communicator->run("ncclCommFinalize", [](ncclComm_t comm) {
      ncclResult_t code = nccl().finalize(comm);
      return code == ncclInProgress ? ncclSuccess : code;
    });
  }
  for (auto& communicator : all_) communicator->finish(ncclInProgress, "ncclCommFinalize");
  for (auto& communicator : all_) communicator->destroy();
}

void NcclCommunicators::abort() noexcept {
  for (auto& communicator : all_) communicator->abort();
}

class NcclExchange final : public Communicator {
 public:
  // i: index of the communicator among the process's.
  NcclExchange(std::shared_ptr<NcclCommunicators> communicators, size_t i,
               const std::vector<PeerRange>& peers)
      : Communicator(peers),
        communicators_(std::move(communicators)),
        communicator_(communicators_->at(i)),
        last_(make_cuda_stream(communicator_.end().device.index)->make_event()) {}

  int rank() const override { return communicator_.end().rank; }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream& stream) override;
  void all_reduce(float* values, int64_t count, Stream& stream) override;
  void check() override { communicator_.check(); }
  void abort() noexcept override { communicators_->abort(); }

 private:
  std::shared_ptr<NcclCommunicators> communicators_;  // the last exchange closes them
  NcclCommunicator& communicator_;
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
                                    const std::vector<PeerRange>& peers) {
  auto communicators =
      std::make_shared<NcclCommunicators>(group, ends, static_cast<int>(peers.size()));
  DeviceExchanges exchanges;
  for (size_t i = 0; i < ends.size(); ++i)
    exchanges.push_back(std::make_unique<NcclExchange>(communicators, i, peers));
  return exchanges;
}

}  // namespace spire
