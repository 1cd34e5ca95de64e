// trainer dataset verify and trainer --check --deep: every row of both halves, read once.
#pragma once
#include "engine/data/convert/convert.h"

namespace spire::inline data {

struct VerifyOptions {
  const std::atomic<bool>* stop = nullptr;
  // Called by one thread at a time, and not always the same.
  std::function<void(const WorkProgress&)> on_progress = [](const WorkProgress&) {};
  int threads = 0;  // that read; 0: as many as there are cores
};

struct VerifiedHalf {
  int64_t rows = 0;        // that are there
  int64_t bad = 0;         // rows that cannot be used
  bool none_good = false;  // all rows are bad
  int64_t checksums = 0;   // compared
  int64_t wrong = 0;       // of them
  std::vector<std::string> problems =
      {};  // the first max_problems in its order, with file and place
};

struct VerifyResult {
  VerifiedHalf train, test;

  bool good() const { return train.bad + train.wrong + test.bad + test.wrong == 0; }
};

// Throws Error(data) for what keeps a file from being opened at all, FileChanged for one that is
// written meanwhile, Error(interrupted) when it was stopped.
VerifyResult verify_dataset(const RunConfig& config, const VerifyOptions& options);

}  // namespace spire::inline data
