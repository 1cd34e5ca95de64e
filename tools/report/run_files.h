// What the folder of a finished or running run holds, as far as its page shows it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "tools/report/run_metrics.h"

namespace spire {

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
