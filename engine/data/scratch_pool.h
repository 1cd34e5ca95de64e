// Pool of scratch memory for concurrent readers, allocated ahead so that reading allocates nothing.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace spire::inline data {

// Thread-safe. With more readers than scratch objects borrow() blocks.
template <typename Scratch>
class ScratchPool {
 public:
  // Calls make(), which returns a std::unique_ptr<Scratch>, `readers` >= 1 times.
  template <typename Make>
  ScratchPool(int64_t readers, const Make& make) {
    for (int64_t i = 0; i < readers; ++i) free_.push_back(make());
  }

  // Returns the scratch to the pool on destruction.
  class Loan {
   public:
    explicit Loan(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~Loan() { pool_.give(std::move(scratch_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Scratch& operator*() { return *scratch_; }
    Scratch* operator->() { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };
  Loan borrow() { return Loan(*this); }

 private:
  std::unique_ptr<Scratch> take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !free_.empty(); });
    std::unique_ptr<Scratch> scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }
  void give(std::unique_ptr<Scratch> scratch) {
    {
      std::lock_guard lock(mutex_);
      free_.push_back(std::move(scratch));  // within the initial capacity: no allocation
    }
    returned_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace spire::inline data
