// What every feature of a step keeps: one hash on any devices, ranks and by any strategy, and after
// a stop.
#pragma once
#include <gtest/gtest.h>

#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {

class SameHash : public OnEachKind {
 protected:
  // run: on one device.
  static void expect_one_hash(SmallRun run) {
    uint64_t expected = hash_after(run, 3);
    for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
      run.strategy = strategy;
      run.devices = devices(2);
      EXPECT_EQ(hash_after(run, 3), expected) << strategy;
    }
    for (int ranks : rank_counts({2})) {
      run.ranks = ranks;
      run.devices = devices_of_ranks(ranks);
      EXPECT_EQ(hash_after(run, 3), expected) << ranks;
    }
  }

  static void expect_to_go_on_from_a_checkpoint(const SmallRun& run) {
    uint64_t straight = hash_after(run, 4);
    TrainingState state = state_after(run, 2);
    EXPECT_EQ(hash_after(run, 2, 4, &state), straight);
  }
};

}  // namespace spire
