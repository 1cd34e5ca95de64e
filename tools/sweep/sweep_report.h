// The results of a sweep as a table, as CSV and as JSON, and the plan of a sweep read from that.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tools/sweep/point_result.h"
#include "tools/sweep/sweep_plan.h"

namespace spire::tool {

struct SweepReport {
  SweepRequest request;
  std::vector<SweepPoint> points;
  std::vector<PointResult> results;  // one for each point
};

// One line for each point, the best first, with the values of the axes by the last words of their
// keys, the best and the last metric, loss, speed, parameter hash and state; then the messages of
// runs that failed.
std::string sweep_table(const SweepReport& report);

// RFC 4180, with the columns point, each axis by its key, state, exit, message, metric, best, last,
// loss, train_loss, steps, samples_per_s, seconds, parameter_hash. In the table's order.
std::string sweep_csv(const SweepReport& report);

// The plan and the results of all points in the order of the grid; ends with a newline.
std::string sweep_json(const SweepReport& report);

// Reads the plan from the text of sweep.json. file: its name, for messages. Throws Error(config)
// for a text that is not of this program and version.
struct RecordedSweep {
  SweepRequest request;
  std::vector<int64_t> towers, tower_threads;  // of each point
};
RecordedSweep read_sweep_json(const std::string& text, const std::string& file);

}  // namespace spire::tool
