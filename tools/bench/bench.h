// Measures how a model's speed grows with devices, beside what the machine itself reaches
// (docs/benchmarks.md).
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <spire/load_config.h>
#include <spire/world.h>

namespace spire {

std::vector<std::string> built_in_models();  // "mlp", "cnn", ...
// Returns one of them as YAML, with synthetic data. Throws Error(config) with the known names.
ConfigText built_in_model(const std::string& name);

// What to measure. Empty lists and texts, and steps 0, stand for the defaults; other numbers are at
// least 1. Words are those of `trainer bench`, and messages name its options.
struct BenchOptions {
  std::vector<int64_t> counts = {};          // devices; default: 1, 2, 4, ... and all of them
  std::vector<int64_t> processes = {};       // of each count that it divides; default: 1
  std::string kind = {};                     // cpu | cuda; default: GPUs where there are any
  std::vector<std::string> scaling = {};     // strong, weak; default: both
  std::vector<std::string> precisions = {};  // fp32, bf16, fp16, exact; default: the config's
  std::vector<std::string> strategies = {};  // default: the config's
  int64_t towers_per_device = 1;             // weak scaling
  int64_t steps = 0;                         // timed, of each run; default: as many as take 5 s
  int64_t warmup = 3, rounds = 3;            // steps before them; runs of each variant
  bool synthetic_data = true;  // random samples in memory, in place of the config's data
  bool ceilings = true;        // measure the machine's own products, copies and sums first

  std::vector<int64_t> predicted = {};  // devices whose speed to predict, from runs on one device
  std::string link = {};  // between them, needed with `predicted`: nvlink, pcie, ib:400Gb, ...

  std::filesystem::path output = {};  // folder of the report; default: runs/bench/TIME
  bool overwrite = false;             // a report that is in the folder
  std::string command = {};           // what the report calls the command
  std::function<void(const std::string& line)> log = {};  // what is being done
};

// A run to be timed in processes of its own, so that its memory and its first step are those of a
// training run. Each of them calls measure_steps() with this config.
struct BenchRun {
  RunConfig config;
  int64_t processes = 1;
  std::vector<int> cores = {};  // that the processes may use; empty: all
  std::string gpus = {};        // for CUDA_VISIBLE_DEVICES; empty: as it is
  int64_t steps = 1, warmup = 1;
};

struct ProcessOutput {
  std::string out, err;  // what a process has written to stdout and stderr
};

// Starts the processes of a run and returns what each has written, by rank, when all have ended
// well: the last line of `out` is what measure_steps() has returned. Throws Error(interrupted) to
// end the benchmark; any other Error is the run's.
using StartBenchRun = std::function<std::vector<ProcessOutput>(const BenchRun& run)>;

// In a process of a run: trains its steps and returns what was measured, as a line without its end.
// started: when this process began. world: as RunOptions has it. on_exit_timeout: likewise. Throws
// as train().
std::string measure_steps(const RunConfig& config, int64_t steps, int64_t warmup,
                          std::chrono::steady_clock::time_point started, World* world,
                          const std::function<void(const Failure&)>& on_exit_timeout);

struct BenchResult {
  std::filesystem::path folder;  // has bench.html, bench.json and bench.csv
  std::string table;             // for people
  std::string prediction = {};   // tables of BenchOptions::predicted
  bool whole = true;             // all rounds; false: it was interrupted, and has those before
  // What went wrong beside the runs, empty if nothing did: strong scaling has trained different
  // bits, which is a defect; files that lack results; no prediction could be made.
  std::string broken_guarantee = {}, lost_files = {}, no_prediction = {};
};

// Times the variants of a config, each in rounds of runs that `start` makes, and writes the report
// as it goes on. Runs that fail are reported in it, and the others go on. One call at a time in a
// process. Throws Error(config) for options that do not fit, Error(unexpected) if no variant could
// run, Error(interrupted) if the first run was interrupted.
BenchResult bench_scaling(const RunConfig& config, const BenchOptions& options,
                          const StartBenchRun& start);

// Times each op of a step on one device (or the first of `counts`) beside its roofline, in this
// thread, which stays on that device's cores. Returns a table. Throws as train().
std::string bench_ops(const RunConfig& config, const BenchOptions& options);

// Returns the ratios of two files bench.json (b to a) with their spread, as a table. Throws
// Error(config) for files that are no such reports.
std::string compare_benches(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace spire
