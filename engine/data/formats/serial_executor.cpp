#include "engine/data/formats/serial_executor.h"

#include "engine/base/thread.h"

namespace spire::inline data {

SerialExecutor::SerialExecutor(const std::vector<int>& cores) {
  thread_ = start_thread({"hdf5 reader", cores}, [this] { serve(); });
}

SerialExecutor::~SerialExecutor() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  job_queued_.notify_one();
  thread_.join();
}

// Appends the job to the queue and waits until serve() has run it.
void SerialExecutor::wait_for(Job& job) {
  std::unique_lock lock(mutex_);
  (last_ == nullptr ? first_ : last_->next) = &job;
  last_ = &job;
  job_queued_.notify_one();
  job_done_.wait(lock, [&] { return job.done; });
  lock.unlock();
  if (job.error) std::rethrow_exception(job.error);
}

// Body of the thread: runs jobs until it is stopped and the queue is empty.
void SerialExecutor::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    job_queued_.wait(lock, [&] { return stopping_ || first_ != nullptr; });
    if (first_ == nullptr) return;
    Job& job = *first_;
    lock.unlock();
    try {
      job.call(job.object);
    } catch (...) {
      job.error = std::current_exception();
    }
    lock.lock();
    // The job leaves the queue before `done` is set: its memory is the waiting thread's stack.
    first_ = job.next;
    if (first_ == nullptr) last_ = nullptr;
    job.done = true;
    job_done_.notify_all();
  }
}

}  // namespace spire::inline data
