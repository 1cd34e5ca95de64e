// What a run's metrics.jsonl says, thinned to what a page can show. docs/metrics.md describes the
// file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <spire/metric.h>
#include <spire/run_config.h>

#include "engine/observe/page/downsampled_curve.h"

namespace spire {

using Curves =
    std::map<std::string, DownsampledCurve>;  // tag of metrics.jsonl -> values over epochs

struct DeviceCurves {
  Curves curves, epochs;                     // "device/busy"; as those of RunMetrics
  std::map<std::string, int64_t> throttled;  // reason -> number of lines
};

struct RunMetrics {
  Curves curves;  // every tag that has numbers: "train/loss", "time/copy_ms"
  Curves epochs;  // of the steps: a value an epoch, the mean of its lines
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

}  // namespace spire
