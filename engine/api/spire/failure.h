// Failure that ends a run early. All ranks (the processes of the run) agree on one.
#pragma once
#include <string>

#include <spire/error.h>

namespace spire {

struct Failure {
  Category category = Category::collective;
  int rank = 0;  // where it began; -1 if all ranks met the same error
  // One line with the rank, device and phase where it began, and the cause: "rank 1 (host b, pid
  // 77), cpu:0: no progress in backward of step 37 for 10.0 s (timeouts.step: 10 s)".
  std::string text;
  bool consequence = false;  // follows from another rank's failure, which will be reported, too
  std::string table;         // one line per thread of all ranks: what it did; filled in by rank 0
};

}  // namespace spire
