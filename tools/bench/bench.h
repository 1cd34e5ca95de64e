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
  bool overwrite = false;          // a report that is in the folder
  bool no_ceilings = false;
  bool ops = false;                        // time each op instead of runs
  std::vector<std::string> compared = {};  // two files bench.json: compare them instead
  std::vector<int64_t> predicted = {};     // devices whose speed to predict, from runs on one
  std::string link = {};                   // between them: parse_link()
  int64_t started = 0;                     // bench-worker: steady_clock in ns, when it was started
};

// Times the variants of a config, each in rounds of runs in processes of their own, prints the
// tables and writes the report as it goes on. Runs that fail are reported in it, and the others go
// on. Returns the exit code. Throws Error(config) for options that do not fit, Error(unexpected) if
// no variant could run or strong scaling has trained different bits, Error(interrupted) on a
// signal.
int bench_scaling(const RunConfig& config, const Arguments& arguments);

// Times each op of a step on one device (or the first of the counts) beside its roofline, in this
// thread, which stays on that device's cores. Returns a table. Throws as train().
std::string bench_ops(const RunConfig& config, const BenchOptions& options);

}  // namespace spire
