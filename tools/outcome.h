// What the ends of a run's processes mean together: pure functions.
#pragma once
#include <span>
#include <string>

namespace spire::tool {

struct ChildEnd {
  int rank = -1;        // -1: the only process, without a rank
  int code = 0;         // its exit code, or
  int signal = 0;       // the signal that killed it
  bool forced = false;  // it was this program that killed it, for it did not end by itself

  bool good() const { return code == 0 && signal == 0; }
};
std::string to_string(const ChildEnd& end);  // "rank 2 was killed by signal 9 (Killed)"

struct Outcome {
  int code = 0;              // 0 when all went well
  ChildEnd cause;            // the end that explains the others, when code is not 0
  bool restartable = false;  // another try may go better
  int died = 0;              // processes that a signal killed, but for forced ends
};

// ends: at least one, in the order in which they came. An exit code that says why (configuration,
// data, stopped by a signal, ...) comes before deaths, these before codes that only tell of others'
// deaths (8), and forced ends come last.
Outcome judge(std::span<const ChildEnd> ends);

}  // namespace spire::tool
