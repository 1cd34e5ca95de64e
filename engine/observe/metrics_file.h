// Writes metrics.jsonl: one JSON object a line. docs/metrics.md lists the tags.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include <spire/observer.h>

#include "engine/base/write_file.h"
#include "engine/observe/units.h"

namespace spire::inline observe {

// Appends steps (those with `record` set), evaluations and checkpoints, each line with one write().
// A new run starts an empty file. A resumed run appends to the old file after it has cut off a torn
// last line and records of later steps, so that the file equals that of a run without interruption.
//
// on_start() throws Error(config) where the file cannot be read or written. Later a failed write
// does not throw: it calls `warn` once, skips lines while the disk is full, never leaves half a
// line, and reports the number of missing lines when writing works again. A file that is removed
// during the run is written again with its lines; a file of another that has its name is left
// alone.
class MetricsFile : public Observer {
 public:
  using Warn = std::function<void(std::string_view)>;
  MetricsFile(std::filesystem::path path, Warn warn, WallClock now = wall_time);
  ~MetricsFile() override;
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void on_start(const StartInfo& start) override;
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  std::string lost() const override;

 private:
  void open(std::string_view kept, Existing existing);  // opens the file with content `kept`
  void append(const std::string& line);
  bool put_back();
  void failed(std::string_view what);

  const std::filesystem::path path_;
  const Warn warn_;
  const WallClock now_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;    // of whole lines in the file
  int64_t missing_ = 0;  // lines lost since the last good write
  int64_t lost_ = 0;     // and before it
};

// Returns the lines of `text` that are whole JSON objects of steps up to `step`. saved_again:
// leaves out the checkpoint of that step, which is written and recorded once more.
std::string metrics_through(std::string_view text, int64_t step, bool saved_again = false);

}  // namespace spire::inline observe
