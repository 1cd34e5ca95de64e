// Exchanges between GPUs by NCCL. (NCCL Developer Guide: "Fault Tolerance", "Point-to-point
// communication", "User Buffer Registration".) The communicator does not block: a call that takes
// its time says so, and is asked about until it is through or somebody has interrupted the group.
#include <nccl.h>

#include <cstring>
#include <map>
#include <mutex>

#include <spire/collective/device_exchange.h>
#include <spire/device/cuda_current.h>
#include <spire/process/pauses.h>

namespace spire {
namespace {

class NcclExchange final : public DeviceExchange {
 public:
  NcclExchange(ProcessGroup& group, int index);
  ~NcclExchange() override;

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream& stream) override;
  void all_reduce(float* values, int64_t count, Stream& stream) override;
  void prepare(void* memory, size_t bytes) override;
  void forget(void* memory) noexcept override;
  void check() override;
  void abort() noexcept override;

 private:
  void expect_usable() const;
  void finish(ncclResult_t code, const char* call);
  void close();
  [[noreturn]] void lose(const std::string& message);
  std::string words_of(ncclResult_t code, const char* call) const;

  ProcessGroup& group_;
  const int index_;
  std::unique_ptr<Event> last_;  // behind the last exchange
  // Of what follows. Never held while a question to NCCL is repeated.
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;             // null after an abort
  std::string lost_;                      // why
  std::map<void*, void*> registrations_;  // handles, by memory
};

// Rank 0's name for the communicator reaches all.
ncclUniqueId share_id(ProcessGroup& group) {
  ncclUniqueId id = {};
  if (group.rank() == 0 && ncclGetUniqueId(&id) != ncclSuccess)
    fail(Category::device, "ncclGetUniqueId: {}", ncclGetLastError(nullptr));
  std::string bytes = broadcast(group, {id.internal, sizeof id.internal});
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  return id;
}

NcclExchange::NcclExchange(ProcessGroup& group, int index)
    : group_(group), index_(index), last_(make_cuda_stream(index)->make_event()) {
  ncclUniqueId id = share_id(group);
  CurrentCudaDevice current(index_);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclResult_t code = ncclCommInitRankConfig(&comm_, group.size(), id, group.rank(), &config);
  try {
    finish(code, "ncclCommInitRankConfig");
  } catch (const PeerLost& lost) {
    if (group_.interrupted()) throw;
    fail(Category::device, "{}; NCCL_DEBUG=INFO in the environment makes it tell more",
         lost.what());
  }
}

// Ranks that are done wait for those that still read what was sent to them.
NcclExchange::~NcclExchange() {
  try {
    close();
  } catch (const Error&) {  // the group was interrupted, and the communicator aborted
  }
}

void NcclExchange::close() {
  if (!comm_) return;
  CurrentCudaDevice current(index_);
  finish(ncclCommFinalize(comm_), "ncclCommFinalize");
  ncclCommDestroy(comm_);
}

std::string NcclExchange::words_of(ncclResult_t code, const char* call) const {
  return fmt::format("rank {}, cuda:{}: {}: {} ({})", group_.rank(), index_, call,
                     ncclGetErrorString(code), ncclGetLastError(comm_));
}

void NcclExchange::expect_usable() const {
  if (!comm_) throw PeerLost(lost_);
}

// Returns when the call is through. REQUIRES: mutex_ is not held.
void NcclExchange::finish(ncclResult_t code, const char* call) {
  for (Pauses pauses; code == ncclInProgress; pauses.pause()) {
    if (group_.interrupted()) lose("interrupted, for the run has failed");
    std::lock_guard lock(mutex_);
    expect_usable();
    ncclCommGetAsyncError(comm_, &code);
  }
  if (code != ncclSuccess) lose(words_of(code, call));
}

void NcclExchange::lose(const std::string& message) {
  abort();
  CurrentCudaDevice current(index_);
  check_device("NCCL");  // the cause, where it is this rank's own
  throw PeerLost(message);
}

void NcclExchange::abort() noexcept {
  std::lock_guard lock(mutex_);
  if (!comm_) return;
  lost_ = "the exchange between the GPUs was aborted, for the run has failed";
  ncclCommAbort(comm_);
  comm_ = nullptr;
}

void NcclExchange::check() {
  ncclResult_t code = ncclSuccess;
  {
    std::lock_guard lock(mutex_);
    expect_usable();
    ncclCommGetAsyncError(comm_, &code);
  }
  if (code != ncclSuccess && code != ncclInProgress) lose(words_of(code, "ncclCommGetAsyncError"));
  if (group_.interrupted()) lose("interrupted, for the run has failed");
}

// A message of no bytes is none: both sides know how many there are.
void NcclExchange::exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                            Stream& stream) {
  auto on = static_cast<cudaStream_t>(stream.native());
  ncclResult_t code = ncclSuccess;
  stream.wait_for(*last_);
  {
    std::lock_guard lock(mutex_);
    expect_usable();
    auto note = [&](ncclResult_t result) {
      if (code == ncclSuccess && result != ncclInProgress) code = result;
    };
    note(ncclGroupStart());
    for (const Incoming& message : receives) {
      if (message.bytes > 0)
        note(ncclRecv(message.data, message.bytes, ncclInt8, message.peer, comm_, on));
    }
    for (const Outgoing& message : sends) {
      if (message.bytes > 0)
        note(ncclSend(message.data, message.bytes, ncclInt8, message.peer, comm_, on));
    }
    ncclResult_t end = ncclGroupEnd();
    if (code == ncclSuccess) code = end;
  }
  finish(code, "ncclSend, ncclRecv");
  stream.record(*last_);
}

void NcclExchange::all_reduce(float* values, int64_t count, Stream& stream) {
  if (count == 0) return;
  ncclResult_t code = ncclSuccess;
  stream.wait_for(*last_);
  {
    std::lock_guard lock(mutex_);
    expect_usable();
    code = ncclAllReduce(values, values, static_cast<size_t>(count), ncclFloat, ncclSum, comm_,
                         static_cast<cudaStream_t>(stream.native()));
  }
  finish(code, "ncclAllReduce");
  stream.record(*last_);
}

// What cannot be registered is staged by NCCL, as all else is.
void NcclExchange::prepare(void* memory, size_t bytes) {
  std::lock_guard lock(mutex_);
  expect_usable();
  void* registration = nullptr;
  if (bytes > 0 && ncclCommRegister(comm_, memory, bytes, &registration) == ncclSuccess)
    registrations_[memory] = registration;
}

void NcclExchange::forget(void* memory) noexcept {
  std::lock_guard lock(mutex_);
  auto found = registrations_.find(memory);
  if (found == registrations_.end()) return;
  if (comm_) ncclCommDeregister(comm_, found->second);
  registrations_.erase(found);
}

}  // namespace

std::unique_ptr<DeviceExchange> make_nccl_exchange(ProcessGroup& group, int index) {
  return std::make_unique<NcclExchange>(group, index);
}

}  // namespace spire
