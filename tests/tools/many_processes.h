// Runs of several processes that the program starts itself, and ways to stop or kill them.
#pragma once
#include <chrono>
#include <csignal>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/tools/small_data.h"

namespace spire {

// Four towers of eight samples: the same run on one, two or four processes.
struct ManyProcesses {
  SmallData data;
  Words run(const std::string& name, const Words& more = {}) const {
    return data.run(name, {"towers=4", "batch_size=8"}) + more;
  }
  // Without an end, but with checkpoints.
  Words endless(const std::string& name, const Words& more = {}) const {
    return run(name, Words{"steps=100000000", "checkpoint.every_steps=20", "log.every_steps=1000",
                           "eval.every_epochs=0", "checkpoint.every_epochs=0"} +
                         more);
  }
};

// Polls until the condition is true; returns false after a minute.
template <typename Condition>
bool within_a_minute(Condition condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    usleep(2000);  // gives the core away; the end of the loop is the condition, not the time
  }
  return true;
}

inline bool all_gone(const std::vector<pid_t>& processes) {
  return within_a_minute([&] { return std::ranges::all_of(processes, gone); });
}

inline bool all_in_state(const std::vector<pid_t>& processes, char state) {
  return within_a_minute([&] {
    return std::ranges::all_of(processes, [&](pid_t p) { return state_of(p) == state; });
  });
}

// Returns the pids of the program's ranks, in the order of ranks, once all have started.
inline std::vector<pid_t> wait_for_ranks(const Program& program, size_t count) {
  std::vector<pid_t> ranks;
  EXPECT_TRUE(within_a_minute([&] {
    ranks = children_of(program.pid());
    return ranks.size() == count;
  }));
  return ranks;
}

// The same, once the program has said `text`.
inline std::vector<pid_t> ranks_after(const std::string& text, Program& program, size_t count) {
  if (!program.wait_for(text)) throw std::runtime_error("the program did not say " + text);
  return wait_for_ranks(program, count);
}

}  // namespace spire
