// What data.on_error says of a sample that cannot be read: it stops the run, or the next good one
// in the order of the dataset takes its place.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/data/steady_file.h"

namespace spire::inline data {

// Any thread may call. Memory is needed only for broken samples: 64 bytes each, and
// the texts of some.
class BrokenSamples {
 public:
  // `count` samples in the dataset; config.on_error.
  BrokenSamples(int64_t count, const DataConfig& config)
      : count_(count), skip_(config.on_error == DataConfig::OnError::skip) {}

  // Calls read(sample), then read(sample + 1), ... (around the end) until one throws no
  // Error(data). With on_error stop the first one's error goes on, with what to do about it; with
  // skip it is remembered, but for FileChanged: samples that change during a run are not broken.
  // When none is good, Error(data) says so with the first problem.
  template <typename Read>
  void read_good(int64_t sample, const Read& read) const {
    for (int64_t tried = 0; tried < count_; ++tried) {
      int64_t at = (sample + tried) % count_;
      if (skip_ && is_broken(at)) continue;
      try {
        return read(at);
      } catch (const FileChanged&) {
        throw;
      } catch (const Error& error) {
        if (error.category() != Category::data) throw;
        if (!skip_) refuse(error);
        note(at, error.what());
      }
    }
    fail(Category::data, "no sample can be read; the first problem: {}", problems().front());
  }

  int64_t skipped() const;                    // different samples found broken so far
  std::vector<std::string> problems() const;  // of those with the lowest indices, max_problems

 private:
  bool is_broken(int64_t sample) const;
  void note(int64_t sample, const char* problem) const;
  [[noreturn]] static void refuse(const Error& error);

  int64_t count_;
  bool skip_;
  mutable std::mutex mutex_;
  mutable std::set<int64_t> broken_;
  mutable std::map<int64_t, std::string> problems_;  // by sample
};

}  // namespace spire::inline data
