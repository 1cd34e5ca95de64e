// Policy for samples that cannot be read (data.on_error): the run stops, or the next readable
// sample in dataset order takes the place of a corrupt one.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/data/change_detection.h"
#include "engine/data/dataset.h"

namespace spire::inline data {

// Thread-safe. Takes memory for corrupt samples only: 64 bytes each, and the texts of some.
class CorruptSamples {
 public:
  // count: samples in the dataset.
  CorruptSamples(int64_t count, const DataConfig& config)
      : count_(count), skip_(config.on_error == DataConfig::OnError::skip) {}

  // Calls read(sample), then read(sample + 1), ... (modulo count) until one throws no Error(data).
  // With on_error stop the first error is rethrown with advice; with skip it is recorded. Always
  // rethrows FileChanged. Throws Error(data) with the first problem where no sample is readable.
  template <typename Read>
  void read_or_skip(int64_t sample, const Read& read) const {
    for (int64_t tried = 0; tried < count_; ++tried) {
      int64_t at = (sample + tried) % count_;
      if (skip_ && is_corrupt(at)) continue;
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

  int64_t skipped() const;                    // distinct samples found corrupt so far
  std::vector<std::string> problems() const;  // of the max_problems with the lowest indices

 private:
  bool is_corrupt(int64_t sample) const;
  void record(int64_t sample, const char* problem) const;
  [[noreturn]] static void refuse(const Error& error);

  int64_t count_;
  bool skip_;
  mutable std::mutex mutex_;  // guards corrupt_ and problems_
  mutable std::set<int64_t> corrupt_;
  mutable std::map<int64_t, std::string> problems_;  // by sample
};

}  // namespace spire::inline data
