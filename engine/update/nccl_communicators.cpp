#include "engine/update/nccl_communicators.h"

#include <cstring>

#include <spire/error.h>

#include "engine/base/thread.h"
#include "engine/device/cuda_error.h"

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

}  // namespace

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

// Memory that cannot be registered works, too: NCCL stages it.
void NcclCommunicator::prepare(void* memory, size_t bytes) {
  std::lock_guard lock(mutex_);
  expect_usable();
  void* registration = nullptr;
  if (bytes > 0 && nccl().register_memory(comm_, memory, bytes, &registration) == ncclSuccess)
    registrations_[memory] = registration;
}

void NcclCommunicator::forget(void* memory) noexcept {
  std::lock_guard lock(mutex_);
  auto found = registrations_.find(memory);
  if (found == registrations_.end()) return;
  if (comm_) nccl().forget_memory(comm_, found->second);
  registrations_.erase(found);
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
    fail(Category::device, "{}; set NCCL_DEBUG=INFO in the environment for details", lost.what());
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

}  // namespace spire
