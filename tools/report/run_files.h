// What the folder of a finished or running run holds, as far as its page shows it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spire/metric.h>
#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/observe/page/downsampled_curve.h"

namespace spire {

// What a run's metrics.jsonl says, thinned to what a page can show. docs/metrics.md describes the
// file.
using Curves =
    std::map<std::string, DownsampledCurve>;  // tag of metrics.jsonl -> values over epochs

struct DeviceCurves {
  Curves curves, epochs;                     // "device/busy"; as those of RunMetrics
  std::map<std::string, int64_t> throttled;  // reason -> number of lines
};

struct RunMetrics {
  Curves curves;  // every tag that has numbers: "train/loss", "time/copy_ms"
  Curves epochs;  // of the steps: per epoch the mean of its lines
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

enum class RunState {
  running,  // a process holds the folder's lock
  ended,    // there is a summary, and the metrics did not go on after it
  unclear,  // neither: killed, or running on another host or in another container
};

struct SampleFile {
  std::string name;  // "step_00000400.txt"
  bool image = false;
  std::string bytes;
};

struct RunFiles {
  std::filesystem::path directory;
  std::string label;  // its last name; the whole path where runs of a page share that
  RunState state = RunState::unclear;
  std::string config_text;          // config.yaml; empty: there is none
  std::optional<RunConfig> config;  // none where this program does not know all of its keys
  std::optional<RunSummary> summary;
  RunMetrics metrics;
  std::vector<std::pair<std::string, int64_t>> checkpoints;  // name, bytes; by name
  std::string best, latest;                                  // names among them, or empty
  std::string process;               // the last one: "host, process 123, since 2026-..."
  std::optional<SampleFile> sample;  // the newest
  std::vector<std::string> notes;    // what could not be read
};

// Throws Error(config) if the directory is no run's: it has none of config.yaml, metrics.jsonl and
// summary.json, or the system refuses to read it.
RunFiles read_run_files(const std::filesystem::path& directory);

// "validation" or "test": the data of the run's evaluations.
const char* evaluated_data(const RunFiles& run);

// Gives runs that share their last name their whole path as label.
void tell_apart(std::vector<RunFiles>& runs);

}  // namespace spire
