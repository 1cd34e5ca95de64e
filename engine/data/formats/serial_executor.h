// Executor with a single thread, for libraries that only one thread at a time may call.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace spire::inline data {

// Thread-safe. Calls run in the order of their arrival and allocate nothing.
class SerialExecutor {
 public:
  // cores: of the thread; empty: those of its creator. Throws Error(device) if none can start.
  explicit SerialExecutor(const std::vector<int>& cores = {});
  ~SerialExecutor();
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  // Calls body() on the thread, waits and rethrows its exception. Deadlocks if a body calls it.
  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    Job job{[](void* object) { (*static_cast<Plain*>(object))(); }, &body};
    wait_for(job);
  }

 private:
  struct Job {  // one call: a node of a linked list, on the stack of the waiting thread
    void (*call)(void*);
    void* object;
    Job* next = nullptr;
    bool done = false;
    std::exception_ptr error = nullptr;
  };

  void wait_for(Job& job);
  void serve();

  std::mutex mutex_;  // guards the members below and queued jobs
  std::condition_variable job_queued_, job_done_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace spire::inline data
