// What became of a point of a sweep, read from the files of its run.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/metric.h>
#include <spire/run_config.h>

namespace spire::tool {

struct PointResult {
  // waiting: not started in this call; interrupted: stopped, and the sweep goes on with it later.
  enum class State : uint8_t { waiting, done, diverged, interrupted, failed };

  State state = State::waiting;
  int exit = 0;              // the run's exit code, or 128 + the signal that killed it
  std::string message = {};  // why it did not end well
  // The rest is of summary.json; steps 0: the run has written none.
  int64_t steps = 0;
  std::optional<MetricValue> last = {};  // of the last evaluation; none: there was none
  Metric best_by = Metric::accuracy;     // which decides what is best
  BestConfig order = {};                 // the run's config of that
  double best = 0, loss = 0;             // of best_by; of the last evaluation
  double train_loss = 0, samples_per_s = 0, seconds = 0;
  std::string hash = {};  // of the parameters

  // Whether the run has nothing left to do: its result stays when the sweep is started again.
  bool ended() const { return state == State::done || state == State::diverged; }
};

// Reads DIR/summary.json, and DIR/config.yaml for what is best. State and message say how the run
// ended: it is done or diverged, or else interrupted, as are all whose file is missing, broken or
// of another program.
PointResult read_result(const std::filesystem::path& run);

// Returns the indices of the results, the best metric first, then those without a metric by their
// training loss, then runs that have not ended.
std::vector<size_t> ranking(const std::vector<PointResult>& results);

std::string state_text(const PointResult& result);  // "done", "failed (6)"

}  // namespace spire::tool
