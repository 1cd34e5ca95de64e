#include "engine/data/formats/owner_thread.h"

#include "engine/base/thread.h"

namespace spire::inline data {

OwnerThread::OwnerThread(const std::vector<int>& cores) {
  thread_ = start_thread({"hdf5 reader", cores}, [this] { serve(); });
}

OwnerThread::~OwnerThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  job_there_.notify_one();
  thread_.join();
}

void OwnerThread::wait_for(Job& job) {
  std::unique_lock lock(mutex_);
  (last_ == nullptr ? first_ : last_->next) = &job;
  last_ = &job;
  job_there_.notify_one();
  job_done_.wait(lock, [&] { return job.done; });
  lock.unlock();
  if (job.error) std::rethrow_exception(job.error);
}

void OwnerThread::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    job_there_.wait(lock, [&] { return stopping_ || first_ != nullptr; });
    if (first_ == nullptr) return;
    Job& job = *first_;
    lock.unlock();
    try {
      job.call(job.object);
    } catch (...) {
      job.error = std::current_exception();
    }
    lock.lock();
    first_ = job.next;
    if (first_ == nullptr) last_ = nullptr;
    job.done = true;
    job_done_.notify_all();
  }
}

}  // namespace spire::inline data
