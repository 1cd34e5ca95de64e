// One thread that others hand work to and wait: for libraries that one thread at a time may call.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace spire::inline data {

// Any thread may call run(); calls are served in the order in which they came. Nothing is
// allocated by a call.
class OwnerThread {
 public:
  // cores: where it runs; empty: where its creator does. Throws Error(device) where the system
  // starts no thread.
  explicit OwnerThread(const std::vector<int>& cores = {});
  ~OwnerThread();
  OwnerThread(const OwnerThread&) = delete;
  OwnerThread& operator=(const OwnerThread&) = delete;

  // Calls `body` on the thread and returns when it is done; rethrows what it throws. Not to be
  // called from within a body.
  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    Job job{[](void* object) { (*static_cast<Plain*>(object))(); }, &body};
    wait_for(job);
  }

 private:
  // Lives on the stack of the thread that waits for it.
  struct Job {
    void (*call)(void*);
    void* object;
    Job* next = nullptr;
    bool done = false;
    std::exception_ptr error = nullptr;
  };

  void wait_for(Job& job);
  void serve();

  std::mutex mutex_;  // guards what follows, and the jobs in the queue
  std::condition_variable job_there_, job_done_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace spire::inline data
