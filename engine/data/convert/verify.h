// Verification of a dataset: reads every row of both splits once.
#pragma once
#include <vector>

#include "engine/data/convert/convert.h"
#include "engine/data/dataset.h"

namespace spire::inline data {

struct VerifyOptions {
  const std::atomic<bool>* stop = nullptr;
  // Is called by one thread at a time.
  std::function<void(const WorkProgress&)> on_progress = [](const WorkProgress&) {};
  int threads = 0;  // of readers; 0: one a core
};

struct SplitReport {
  int64_t rows = 0;                        // in the split
  int64_t bad = 0;                         // unusable rows
  bool none_good = false;                  // all rows are bad
  int64_t checksums = 0;                   // compared
  int64_t wrong = 0;                       // of the checksums
  std::vector<std::string> problems = {};  // the first max_problems, with file and position
};

struct VerifyResult {
  SplitReport train, test;

  bool good() const { return train.bad + train.wrong + test.bad + test.wrong == 0; }
};

// Throws Error(data) where a file cannot be opened, FileChanged for one written meanwhile,
// Error(interrupted) when stopped.
VerifyResult verify_dataset(const RunConfig& config, const VerifyOptions& options);

}  // namespace spire::inline data
