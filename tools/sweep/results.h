// What came of the runs of a sweep, and its record. Any thread may call all functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/metric.h>
#include <spire/run_config.h>

#include "tools/sweep/plan.h"

namespace spire {

// What became of a point, read from the files of its run.
struct PointResult {
  // waiting: not started in this call; interrupted: stopped, and the sweep goes on with it later.
  enum class State : uint8_t { waiting, done, diverged, interrupted, failed };

  State state = State::waiting;
  int exit = 0;              // the run's exit code, or 128 + the signal that killed it
  std::string message = {};  // why it did not end well
  // The rest is of summary.json; steps 0: the run has written none.
  int64_t steps = 0;
  // Metric of the last evaluation: best_by if it was recorded, else the task's; none: no
  // evaluation.
  std::optional<MetricValue> last = {};
  std::optional<MetricValue> test = {};  // likewise, of the test data; only with validation data
  bool held_out = false;                 // whether evaluations are of validation data
  Metric best_by = Metric::accuracy;     // which decides what is best
  BestConfig order = {};                 // best.* of the run's config
  double best = 0, loss = 0;             // best: of best_by; loss: of the last evaluation
  double train_loss = 0, samples_per_s = 0, seconds = 0;
  std::string hash = {};  // of the parameters

  // Whether the run has nothing left to do: its result stays when the sweep is started again.
  bool ended() const { return state == State::done || state == State::diverged; }
};

// run: its output folder. Reads summary.json there, and config.yaml for what is best. State and
// message say how the run ended: done, diverged or interrupted. A run whose summary.json is missing
// or malformed counts as interrupted. Throws Error(config) if the system cannot read the file.
PointResult read_point_result(const std::filesystem::path& run);

std::string state_text(const PointResult& result);  // "done", "failed (6)"
// "done, test r2 0.9310, best validation r2 0.9402, 7 402 samples/s, 1:15", "failed (6): ..."
std::string outcome_text(const PointResult& result);

// Returns the indices of the results, the best metric first, then those without a metric by their
// training loss, then runs that have not ended.
std::vector<size_t> sweep_ranking(const std::vector<PointResult>& results);

struct SweepReport {
  SweepRequest request;
  std::vector<SweepPoint> points;
  std::vector<PointResult> results;  // one for each point
};

// One line for each point, the best first: the values of the axes (under the last words of their
// keys), the metric on the test data if there is any, the best and the last metric, loss, speed,
// parameter hash and state; then the messages of runs that failed. Headings name metric and data;
// if runs differ in them, the cells do.
std::string sweep_table(const SweepReport& report);

// RFC 4180, with the columns point, each axis by its key, state, exit, message, metric (of `last`),
// best_metric (whose value `best` is), best, last, loss, train_loss, steps, samples_per_s, seconds,
// parameter_hash, data (validation or test, of best, last and loss), test (the test data's, where
// that is another). In the table's order.
std::string sweep_csv(const SweepReport& report);

// The plan and the results of all points in the order of the grid; ends with a newline.
std::string sweep_json(const SweepReport& report);

// The same as a page: the runs in a table, the best first, and figures over axes of numbers.
std::string sweep_html(const SweepReport& report);

struct RecordedSweep {  // the plan of a sweep that has begun
  SweepRequest request;
  std::vector<int64_t> towers, tower_threads;  // of each point
};

// Reads the plan from the text of sweep.json. file: its name, for messages. Throws Error(config)
// for a text that is not of this program and version.
RecordedSweep read_sweep_json(const std::string& text, const std::string& file);

}  // namespace spire
