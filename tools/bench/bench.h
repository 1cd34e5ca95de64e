// trainer bench: its options, and what it can do: measure how a model's speed grows with devices,
// beside what the machine itself reaches, or time each op (docs/benchmarks.md).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/runs/rounds.h"

namespace spire {

struct Arguments;

// Options of `trainer bench`, and of the processes that it starts (bench-worker).
struct BenchOptions {
  std::string model = {};  // a name of built_in_models(), in the place of a config
  VariantRequest variants = {};
  RoundOptions timed = {};
  std::string data = "synthetic";  // synthetic | real
  std::string output = {};         // folder of the report; empty: runs/bench/TIME
  bool overwrite = false;          // replace a report that is in the folder
  bool no_ceilings = false;
  bool ops = false;                        // time each op instead of runs
  std::vector<std::string> compared = {};  // two files bench.json: compare them instead
  std::vector<int64_t> predicted = {};     // numbers of devices whose speed to predict
  std::string link = {};                   // between these devices, for parse_link()
  int64_t started = 0;                     // bench-worker: steady_clock in ns, when it was started
};

// Times the variants of a config: each round of a variant is a run in processes of its own. Prints
// the tables and writes the report; bench.json is written after each run, too. A variant that fails
// is reported, and the others go on. Returns the exit code. Throws Error(config) for options that
// do not fit, Error(unexpected) if no variant could run or strong scaling has trained different
// bits, Error(interrupted) on a signal.
int bench_scaling(const RunConfig& config, const Arguments& arguments);

// Times each op of a step beside its roofline, on as many devices as the first of the counts
// (default: one). Runs in this process and binds the calling thread to those devices' cores.
// Returns a table. Throws as train().
std::string bench_ops(const RunConfig& config, const BenchOptions& options);

}  // namespace spire
