// NCCL communicators of a process's members, each with its own thread, so that no call waits for a
// later one of the same thread. They are non-blocking: ncclInProgress is polled until it ends or
// the group is interrupted. (NCCL Developer Guide: "Fault Tolerance", "Group Calls".)
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <nccl.h>

#include "engine/collective/exchange.h"
#include "engine/device/cuda_error.h"

namespace spire::inline collective {

class NcclCommunicator {
 public:
  NcclCommunicator(ProcessGroup* group, const ExchangeEnd& end) : group_(group), end_(end) {}

  const ExchangeEnd& end() const { return end_; }

  // Runs body(communicator), which returns the result of its last call, or of the first that
  // failed. The calls have completed when this returns. Throws PeerLost.
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
  // Initializes in two parts; begin() does not wait.
  ncclResult_t begin(const ncclUniqueId& id, int size);
  void finish(ncclResult_t code, const char* call);

  void check();  // these three: as Communicator's
  void abort() noexcept;
  void destroy() noexcept;  // after ncclCommFinalize

  void prepare(void* memory, size_t bytes);
  void forget(void* memory) noexcept;

 private:
  void expect_usable() const;
  [[noreturn]] void lose(const std::string& message);
  std::string words_of(ncclResult_t code, const char* call) const;

  ProcessGroup* const group_;  // null for one process
  const ExchangeEnd end_;
  std::mutex mutex_;           // guards the members below; not locked while NCCL is polled
  ncclComm_t comm_ = nullptr;  // null before begin(), and after an abort
  std::string lost_;           // reason of a failure; empty: none
  std::map<void*, void*> registrations_;  // handles, by memory
};

class NcclCommunicators {
 public:
  // Blocks until all members of the run have come. Throws PeerLost, and Error(device).
  NcclCommunicators(ProcessGroup* group, std::span<const ExchangeEnd> ends, int size);
  ~NcclCommunicators();  // waits for members that still receive
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  NcclCommunicator& at(size_t i) { return *all_[i]; }
  void abort() noexcept;

 private:
  void set_up(const ncclUniqueId& id, int size);
  void close();

  std::vector<std::unique_ptr<NcclCommunicator>> all_;
};

}  // namespace spire::inline collective
