// Building blocks for datasets that read samples from files on demand: the policy for samples that
// cannot be read (data.on_error), and a pool of scratch memory for concurrent readers.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/data/dataset.h"
#include "engine/data/input_file.h"

namespace spire {

// Policy for corrupt samples: either the run stops, or the next readable sample of the same part
// takes the place of the corrupt one. Thread-safe. Keeps 64 bytes per corrupt sample, and
// max_problems messages.
class CorruptSamples {
 public:
  CorruptSamples(int64_t count, const DataConfig& config)  // count: samples in the dataset
      : count_(count), skip_(config.on_error == DataConfig::OnError::skip) {}

  // As Dataset::set_held_out(). Without this call all samples are of one part.
  void set_held_out(const std::vector<bool>& held_out) { held_out_ = held_out; }

  // Calls read() for `sample`, then for the next samples of its part (modulo count), until a call
  // succeeds, and records each Error(data). With on_error: stop it rethrows the first Error(data),
  // with advice. Always rethrows FileChanged and errors other than Error(data). Throws Error(data)
  // if no sample of the part is readable.
  template <typename Read>
  void read_or_skip(int64_t sample, const Read& read) const {
    for (int64_t tried = 0; tried < count_; ++tried) {
      int64_t at = (sample + tried) % count_;
      if (!same_part(sample, at) || (skip_ && is_corrupt(at))) continue;
      try {
        return read(at);
      } catch (const FileChanged&) {
        throw;
      } catch (const Error& error) {
        if (error.category() != Category::data) throw;
        if (!skip_) refuse(error);
        record(at, error.what());
      }
    }
    fail(Category::data, "no sample can be read; the first problem: {}", problems().front());
  }

  int64_t skipped() const;                    // number of samples found corrupt so far
  std::vector<std::string> problems() const;  // messages, for the max_problems lowest indices

 private:
  bool same_part(int64_t a, int64_t b) const {
    return held_out_.empty() ||
           held_out_[static_cast<size_t>(a)] == held_out_[static_cast<size_t>(b)];
  }
  bool is_corrupt(int64_t sample) const;
  void record(int64_t sample, const char* problem) const;
  [[noreturn]] static void refuse(const Error& error);

  int64_t count_;
  bool skip_;
  std::vector<bool> held_out_;
  mutable std::mutex mutex_;  // guards corrupt_ and problems_
  mutable std::set<int64_t> corrupt_;
  mutable std::map<int64_t, std::string> problems_;  // message for each sample
};

inline void CorruptSamples::record(int64_t sample, const char* problem) const {
  std::lock_guard lock(mutex_);
  corrupt_.insert(sample);
  problems_.emplace(sample, problem);
  // Keeps the lowest indices, so that the report does not depend on the order of threads.
  if (problems_.size() > max_problems) problems_.erase(std::prev(problems_.end()));
}

inline void CorruptSamples::refuse(const Error& error) {
  std::string_view problem = error.what();
  bool advises = problem.find("; ") != problem.npos;
  fail(Category::data,
       "{}{} leave such samples out by data.on_error: skip; trainer --check --deep names them all",
       problem, advises ? ", or" : "; correct it, or");
}

inline bool CorruptSamples::is_corrupt(int64_t sample) const {
  std::lock_guard lock(mutex_);
  return corrupt_.contains(sample);
}

inline int64_t CorruptSamples::skipped() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(corrupt_.size());
}

inline std::vector<std::string> CorruptSamples::problems() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& [sample, text] : problems_) texts.push_back(text);
  return texts;
}

// Pool of scratch objects, allocated ahead. While all are lent, borrow() blocks. Thread-safe.
template <typename Scratch>
class ScratchPool {
 public:
  // Fills the pool with `readers` >= 1 objects. make() returns a std::unique_ptr<Scratch>.
  template <typename Make>
  ScratchPool(int64_t readers, const Make& make) {
    for (int64_t i = 0; i < readers; ++i) free_.push_back(make());
  }

  class Loan {  // a borrowed object, which goes back to the pool on destruction
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

}  // namespace spire
