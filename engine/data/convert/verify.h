// Verifies a dataset: reads every row of both splits once and compares all checksums.
#pragma once
#include <vector>

#include "engine/data/convert/convert.h"
#include "engine/data/dataset.h"

namespace spire::inline data {

struct VerifyOptions {
  const std::atomic<bool>* stop = nullptr;  // set it to interrupt the call; null: never
  // Called by one thread at a time.
  std::function<void(const WorkProgress&)> on_progress = [](const WorkProgress&) {};
  int threads = 0;  // number of reader threads; 0: one per core
};

struct SplitReport {
  int64_t rows = 0;                        // all rows of the split
  int64_t bad = 0;                         // rows that cannot be read
  bool none_good = false;                  // all rows are bad
  int64_t checksums = 0;                   // row checksums that were compared
  int64_t wrong = 0;                       // checksums that do not match
  std::vector<std::string> problems = {};  // the first max_problems, with file and position
};

struct VerifyResult {
  SplitReport train, test;

  bool good() const { return train.bad + train.wrong + test.bad + test.wrong == 0; }
};

// Throws Error(data) if a file cannot be opened, FileChanged, or if stopped Error(interrupted).
VerifyResult verify_dataset(const RunConfig& config, const VerifyOptions& options);

}  // namespace spire::inline data
