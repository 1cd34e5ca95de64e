// Writes the files of a run for scripts: metrics.jsonl, one JSON object a line, and summary.json.
// docs/metrics.md lists their fields.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <spire/observer.h>

#include "engine/base/write_file.h"
#include "engine/observe/formatting.h"

namespace spire::inline observe {

// Appends steps (those with `record` set), evaluations and checkpoints. A resumed run first cuts
// off a torn last line and later steps: the file equals that of a run without interruption.
//
// Lines that cannot be written are skipped whole; `warn` is called at the first and, with their
// number, when writing works again. A file that is removed during the run is written again with its
// lines, unless another file has taken its name.
class MetricsFile : public Observer {
 public:
  using Warn = std::function<void(std::string_view)>;
  MetricsFile(std::filesystem::path path, Warn warn, WallClock now = wall_time);
  ~MetricsFile() override;
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void on_start(const StartInfo& start) override;  // throws Error(config): not readable or writable
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
  int64_t lost_ = 0;     // lines lost before it
};

// Returns the lines of `text` that are whole JSON objects of steps up to `step`, but if saved_again
// not the checkpoint of that step, which is written and recorded once more.
std::string metrics_through(std::string_view text, int64_t step, bool saved_again = false);

// Writes summary.json at the end of a run, whole or not at all; calls `warn` when it cannot. Writes
// nothing for a run without output, whose directory now belongs to another run.
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
