// Writes the files of a run for scripts: metrics.jsonl, one JSON object per line, audit.jsonl, and
// summary.json. docs/metrics.md lists the fields of metrics.jsonl and summary.json, docs/audit.md
// those of audit.jsonl.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/formatting.h"
#include "engine/observe/json_lines.h"

namespace spire {

// Writes metrics.jsonl: steps (those with `record` set), each followed by the devices' lines,
// evaluations, checkpoints, and the warnings since on_start(). A resumed run first cuts off a torn
// last line and all steps after its checkpoint, so that no step has two lines.
class MetricsFile : public Observer {
 public:
  MetricsFile(std::filesystem::path path, LineFile::Warn warn, WallClock now = wall_time);

  void on_start(const StartInfo& start) override;  // throws Error(config)
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_test(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  void on_warning(std::string_view text) override;
  std::string lost() const override { return file_.lost(); }

 private:
  void append_devices(const StepReport& step);
  void append_evaluation(const std::string& data, const EvalReport& eval);

  LineFile file_;
  const WallClock now_;
  std::vector<DeviceInfo> devices_;  // with unique names
  int64_t step_ = 0;                 // steps done
};

// Returns the lines of `text` that a run resumed at `step` keeps: whole JSON objects of steps up to
// `step`, without evaluations of the test data. saved_again: drops also the evaluation and the
// checkpoint of `step`, because the run makes them again.
std::string metrics_through(std::string_view text, int64_t step, bool saved_again = false);

// Writes audit.jsonl: the root of the run's chain and one line per step. A resumed run first cuts
// off a torn last line and all steps after its checkpoint, as MetricsFile. A run without
// audit.chain empties a file that an earlier run has left.
class AuditFile : public Observer {
 public:
  AuditFile(std::filesystem::path path, LineFile::Warn warn)
      : file_(std::move(path), std::move(warn)) {}

  void on_start(const StartInfo& start) override;  // throws Error(config)
  void on_step(const StepReport& step) override { file_.append(step.audit_line); }
  std::string lost() const override { return file_.lost(); }

 private:
  LineFile file_;
};

// Returns the whole lines of `text` before the first one that is of a step after `step` or is no
// line of audit.jsonl.
std::string audit_through(std::string_view text, int64_t step);

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

// Reads what summary_json() wrote: a number that was not finite is NaN. A field that is missing or
// of another type, as in files of other versions, keeps its default, but val.best is then NaN, and
// exit 1. nullopt if the text is no JSON object.
std::optional<RunSummary> read_summary(const std::string& text);

}  // namespace spire
