// metrics.jsonl: one JSON object a line, for pandas and the like. docs/metrics.md lists the tags.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include <spire/observer.h>

#include "engine/base/write_file.h"
#include "engine/observe/units.h"

namespace spire::inline observe {

// Writes steps (those with `record` set), evaluations and checkpoints as they happen, each line
// with one write(). A new run starts an empty file. A resumed one goes on in the old file, after
// records of steps beyond the resumed one and a torn last line were cut off, so that a killed and
// resumed run leaves what a straight one leaves.
//
// on_start() throws Error(config) where the file cannot be read or written. Nothing else throws for
// a failed write: it tells `warn` once, skips lines while the disk stays full and never leaves half
// a line, and says how many are missing when writing works again. A file that is removed during the
// run is written anew, with its lines; another's file that has the name then is left alone.
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
  void open(std::string_view kept, Existing existing);  // the file holds `kept` and is open
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

// The lines of `text` that are whole JSON objects of a step not beyond `step`. saved_again: but for
// that step's checkpoint, of which there will be another line.
std::string metrics_through(std::string_view text, int64_t step, bool saved_again = false);

}  // namespace spire::inline observe
