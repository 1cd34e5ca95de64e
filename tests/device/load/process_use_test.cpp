// What a process uses, from made-up files of the system and from this one.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/device/load/host_use.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

// A line of /proc/self/task/<id>/stat, with user and system time in ticks.
std::string task(const std::string& name, int user, int system) {
  return fmt::format("17 ({}) S 1 2 3 4 5 6 7 8 9 10 {} {} 0 0 20 0 1 0", name, user, system);
}

TEST(ProcessUse, ThreadsOfANameAreAddedUp) {
  auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  SystemFiles files;
  files.file("proc/self/task/17/stat", task("lane 0", 30, 4))
      .file("proc/self/task/18/stat", task("lane 0", 5, 1))
      .file("proc/self/task/19/stat", task("a) S (b", 7, 0))
      .file("proc/self/task/20/stat", "20 (torn) S 1 2")
      .file("proc/self/task/21/comm", "ended");
  auto seconds = thread_seconds(files.root());
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_DOUBLE_EQ(seconds.at("lane 0"), 40 / ticks);
  EXPECT_DOUBLE_EQ(seconds.at("a) S (b"), 7 / ticks);
}

TEST(ProcessUse, MemoryIsCountedInPages) {
  SystemFiles files;
  EXPECT_FALSE(resident_bytes(files.root()));
  files.file("proc/self/statm", "1000 300 40 1 0 200 0\n");
  EXPECT_EQ(resident_bytes(files.root()), 300u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST(ProcessUse, ClocksAreMeansOfFourCoresAtMost) {
  SystemFiles files;
  constexpr std::array cores = {2, 3, 5, 7, 11};  // the last has no files
  for (int core : {2, 3, 5, 7}) {
    std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", core);
    files.file(folder + "cpufreq/scaling_cur_freq", std::to_string(2'000'000 + 100'000 * core))
        .file(folder + "cpufreq/cpuinfo_max_freq", "3500000\n")
        .file(folder + "thermal_throttle/core_throttle_count", std::to_string(core));
  }
  CoreState state = core_state(cores, files.root());
  EXPECT_EQ(state.mhz, 2000 + 100 * (2 + 3 + 5 + 7) / 4);
  EXPECT_EQ(state.max_mhz, 3500);
  EXPECT_EQ(state.heat_events, 2u + 3 + 5 + 7);
}

TEST(ProcessUse, WhatTheSystemDoesNotTellIsEmpty) {
  SystemFiles files;
  EXPECT_TRUE(thread_seconds(files.root()).empty());
  constexpr std::array cores = {0};
  CoreState state = core_state(cores, files.root());
  EXPECT_FALSE(state.mhz || state.max_mhz || state.heat_events);
  EXPECT_FALSE(core_state({}, files.root()).mhz);
}

TEST(ProcessUse, ThisProcessHasThreadsAndMemory) {
  EXPECT_FALSE(thread_seconds().empty());
  EXPECT_GT(resident_bytes().value(), 1u << 20);
}

}  // namespace
}  // namespace spire
