// Times the steps of a run in this process. `trainer bench` does it in processes of their own.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include <spire/run_config.h>
#include <spire/world.h>

#include "tools/bench/report/bench_report.h"

namespace spire {

struct MeasureOptions {
  int64_t steps = 1;                                   // timed
  int64_t warmup = 1;                                  // steps before them, at least 1
  std::chrono::steady_clock::time_point started = {};  // of this process
  // RunOptions::on_exit_timeout, for a process without a world.
  std::function<void(const Failure&)> on_exit_timeout = {};
};

// Trains `config` from its first step by train() with RunOptions::only_steps, which is what users
// run, without files and evaluations. world: as RunOptions has it; each rank calls this and gets
// its own bytes, times and first step. joules are the machine's, and on rank 0 only. Throws as
// train() does.
Measurement measure(const RunConfig& config, const MeasureOptions& options, World* world = nullptr);

// Joins the measurements of a run's ranks: sums of bytes, means of times, the slowest first step,
// and the speed and joules that rank 0 measured. ranks: at least one, in order. Throws
// Error(unexpected) if the ranks have ended with different weights.
Measurement combined(std::span<const Measurement> ranks);

}  // namespace spire
