// What the folder of a finished or running run holds, as far as its page shows it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spire/run_config.h>

#include "tools/report/run_metrics.h"

namespace spire {

// summary.json; what it lacks is empty.
struct SummaryRecord {
  int exit = 0;
  int64_t steps = 0;
  double epochs = 0, seconds = 0, samples_per_s = 0;
  std::optional<double> train_loss, val_loss, val_metric;
  std::optional<MetricValue> best;  // of the metric that decides what is best
  // Of the test data, only with validation data: the metric that decides, else the task's.
  std::optional<MetricValue> test;
  std::optional<bool> held_out;  // whether evaluations were of validation data
  int64_t test_step = 0;         // of the weights that were tested
  std::string stopped_by, parameter_hash, ema_hash, chain, checkpoint;
  std::vector<std::string> devices;
  int64_t towers = 0, processes = 1;
  std::map<std::string, int64_t> peak_memory, planned_memory;  // kind -> bytes
};

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
  std::optional<SummaryRecord> summary;
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
