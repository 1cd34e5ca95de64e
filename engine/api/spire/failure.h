// The failure that ends a run early, the same on all ranks.
#pragma once
#include <string>

#include <spire/error.h>

namespace spire {

struct Failure {
  Category category = Category::collective;
  int rank = 0;  // -1: all found the same
  // One line, the cause and its rank: "rank 1 (host b, pid 77), cpu:0: no progress in backward of
  // step 37 for 10.0 s (timeouts.step: 10 s)".
  std::string text;
  bool consequence = false;  // of another failure: the watchdog waits a moment for the cause
  std::string table;         // the phases of every rank, a line each; filled by rank 0
};

}  // namespace spire
