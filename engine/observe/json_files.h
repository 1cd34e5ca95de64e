// Writes the files of a run for scripts: metrics.jsonl, one JSON object per line, and summary.json.
// docs/metrics.md lists their fields.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/observer.h>

#include "engine/base/write_file.h"
#include "engine/observe/formatting.h"

namespace spire::inline observe {

// Writes metrics.jsonl: steps (those with `record` set), each followed by the devices' lines,
// evaluations and checkpoints. A resumed run
// first cuts off a torn last line and all steps after its checkpoint, so that no step has two
// lines.
//
// A line that cannot be written is left out as a whole. `warn` is called at the first one and, with
// their number, when writing works again. If the file is removed during the run, it is written
// again with all its lines, unless another file has its name by then.
class MetricsFile : public Observer {
 public:
  using Warn = std::function<void(std::string_view)>;
  MetricsFile(std::filesystem::path path, Warn warn, WallClock now = wall_time);
  ~MetricsFile() override;
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void on_start(const StartInfo& start) override;  // throws Error(config)
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_test(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  std::string lost() const override;

 private:
  void open(std::string_view kept, Existing existing);  // writes `kept` and opens the file
  void append(const std::string& line);
  void append_devices(const StepReport& step);
  void append_evaluation(const std::string& data, const EvalReport& eval);
  bool put_back();
  void failed(std::string_view what);

  const std::filesystem::path path_;
  const Warn warn_;
  const WallClock now_;
  std::vector<DeviceInfo> devices_;  // with unique names
  int descriptor_ = -1;
  int64_t bytes_ = 0;    // of the whole lines in the file
  int64_t missing_ = 0;  // lines lost since the last good write
  int64_t lost_ = 0;     // lines lost before that
};

// Returns the lines of `text` that are whole JSON objects of steps up to `step`. saved_again: drops
// the line of the checkpoint at `step`, because the run saves that checkpoint again.
std::string metrics_through(std::string_view text, int64_t step, bool saved_again = false);

// Writes summary.json at the end of a run, whole or not at all; calls `warn` if it cannot. Writes
// nothing if RunSummary::output is empty: the directory now belongs to another run.
class SummaryFile : public Observer {
 public:
  using Warn = std::function<void(std::string_view)>;
  SummaryFile(std::filesystem::path path, Warn warn);
  void on_start(const StartInfo& start) override;  // throws Error(config) for a bad path
  void on_end(const RunSummary& summary) override;
  std::string lost() const override { return lost_; }

 private:
  const std::filesystem::path path_;
  const Warn warn_;
  std::string lost_;
};

std::string summary_json(const RunSummary& summary);  // indented, ends with a newline

}  // namespace spire::inline observe
