// The NCCL communicators of a process: one for each of its members, on that member's GPU. They do
// not block: a call that takes its time says so, and is asked about until it is through or somebody
// has interrupted the group. (NCCL Developer Guide: "Fault Tolerance", "Group Calls".)
//
// Each is used by a thread of its own, so that no call waits for one that the same thread would
// make later. They are set up, closed and aborted together.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <nccl.h>

#include "engine/collective/communicator.h"
#include "engine/device/cuda_error.h"

namespace spire::inline collective {

class NcclCommunicator {
 public:
  NcclCommunicator(ProcessGroup* group, const ExchangeEnd& end) : group_(group), end_(end) {}

  const ExchangeEnd& end() const { return end_; }

  // body(communicator) makes calls and returns the result of the last, or the first that failed;
  // through when this returns. Throws PeerLost.
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
  // The same in two parts: begin() does not wait.
  ncclResult_t begin(const ncclUniqueId& id, int size);
  void finish(ncclResult_t code, const char* call);

  void check();  // as Communicator's
  void abort() noexcept;
  void destroy() noexcept;  // behind ncclCommFinalize

  void prepare(void* memory, size_t bytes);
  void forget(void* memory) noexcept;

 private:
  void expect_usable() const;
  [[noreturn]] void lose(const std::string& message);
  std::string words_of(ncclResult_t code, const char* call) const;

  ProcessGroup* const group_;  // null for one process
  const ExchangeEnd end_;
  // Of what follows. Never held while a question to NCCL is repeated.
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;             // null before begin(), and after an abort
  std::string lost_;                      // why
  std::map<void*, void*> registrations_;  // handles, by memory
};

class NcclCommunicators {
 public:
  // Blocks until all members of the run are there. Throws PeerLost, and Error(device).
  NcclCommunicators(ProcessGroup* group, std::span<const ExchangeEnd> ends, int size);
  // Members that are done wait for those that still read what was sent to them.
  ~NcclCommunicators();
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
