// NCCL communicators of a process's members (exchange.h). Each is used on a thread of its own, so
// that no call waits for a later call of the same thread. They are non-blocking: a call that
// returns ncclInProgress is polled until it ends or the ProcessGroup is interrupted. (NCCL
// Developer Guide: "Fault Tolerance", "Group Calls".)
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/device/cuda_error.h"
#include "engine/update/exchange.h"
#include "engine/update/nccl_calls.h"

namespace spire {

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

  void check();  // as Communicator::check(); likewise abort(), prepare() and forget()
  void abort() noexcept;
  void destroy() noexcept;  // call it after ncclCommFinalize

  void prepare(void* memory, size_t bytes);
  void forget(void* memory) noexcept;

 private:
  void expect_usable() const;
  [[noreturn]] void lose(const std::string& message);
  std::string words_of(ncclResult_t code, const char* call) const;

  ProcessGroup* const group_;  // null if there is one process
  const ExchangeEnd end_;
  std::mutex mutex_;           // guards the members below; not locked while NCCL is polled
  ncclComm_t comm_ = nullptr;  // null before begin(), and after an abort
  std::string lost_;           // why connections were lost; empty if they were not
  std::map<void*, void*> registrations_;  // memory -> NCCL's handle
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

}  // namespace spire
