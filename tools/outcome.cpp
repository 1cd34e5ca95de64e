#include "tools/outcome.h"

#include <algorithm>
#include <cstring>

#include <spire/error.h>

namespace spire::tool {

namespace {

constexpr int kUnexpected = static_cast<int>(Category::unexpected);
constexpr int kLostRank = static_cast<int>(Category::collective);
constexpr int kStopped = static_cast<int>(Category::interrupted);

// The lower, the nearer to the root of what happened.
int distance(const ChildEnd& end) {
  if (end.good()) return 6;
  if (end.forced) return 5;
  if (end.signal != 0) return 2;
  if (end.code == kStopped) return 1;
  if (end.code == kUnexpected) return 3;
  return end.code == kLostRank ? 4 : 0;
}

}  // namespace

std::string to_string(const ChildEnd& end) {
  std::string name = end.rank < 0 ? "the process" : fmt::format("rank {}", end.rank);
  if (end.forced) return name + " did not end by itself";
  if (end.signal == 0) return fmt::format("{} ended with exit code {}", name, end.code);
  return fmt::format("{} was killed by signal {} ({})", name, end.signal, strsignal(end.signal));
}

Outcome judge(std::span<const ChildEnd> ends) {
  Outcome outcome;
  outcome.cause = *std::ranges::min_element(ends, {}, distance);
  outcome.code = outcome.cause.signal != 0 ? kLostRank : outcome.cause.code;
  outcome.restartable =
      outcome.cause.signal != 0 || outcome.code == kUnexpected || outcome.code == kLostRank;
  outcome.died = static_cast<int>(std::ranges::count_if(
      ends, [](const ChildEnd& end) { return end.signal != 0 && !end.forced; }));
  return outcome;
}

}  // namespace spire::tool
