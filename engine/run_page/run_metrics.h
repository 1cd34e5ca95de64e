// What a run's metrics.jsonl says, thinned to what a page can show. docs/metrics.md describes the
// file.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <spire/metric.h>
#include <spire/run_config.h>

#include "engine/observe/step_times.h"
#include "engine/run_page/thin_curve.h"

namespace spire::inline run_page {

struct DeviceCurves {  // over epochs; empty where the run does not record the number
  ThinCurve arrival_ms, busy, memory_used, celsius, watts, clock_mhz;
  double memory_total = 0;                   // bytes; 0: unknown
  std::map<std::string, int64_t> throttled;  // reason -> number of lines
};

struct RunMetrics {
  // Over epochs. times: ms of each part of a step, in the order of step_parts.
  ThinCurve train_loss, train_metric, val_loss, val_metric, lr, grad_norm, samples_per_s;
  ThinCurve decides;  // of evaluations, best_by's where that is not `metric`
  std::array<ThinCurve, step_parts.size()> times;
  std::map<std::string, DeviceCurves> devices;  // "cuda:1", or "rank 1 cuda:0"
  std::optional<Metric> metric;                 // the task's
  std::optional<Metric> best_by;                // that of best.metric, or the task's

  int64_t lines = 0;           // of a run: of steps, evaluations, checkpoints, devices
  int64_t steps = 0;           // the newest step
  double epoch = 0;            // the newest
  std::optional<double> best;  // value of best_by in an evaluation
  int64_t best_step = 0;
  std::string first_time, last_time;  // UTC
  int64_t skipped_steps = 0, bad_steps = 0, rollbacks = 0;
  int64_t not_finite = 0, first_not_finite = 0;  // recorded steps without a finite loss; the first
  int64_t unreadable = 0;  // lines that are no such record; a torn last line does not count
};

// Reads the file piece by piece; a missing one is empty. best: of the run's config. Throws
// Error(config) if the system refuses to read it, or if it is no regular file.
RunMetrics read_run_metrics(const std::filesystem::path& path, const BestConfig& best = {});

}  // namespace spire::inline run_page
