// Prints the events of a run for people: start block, progress, evaluations, warnings, end block.
#pragma once
#include <chrono>
#include <iosfwd>
#include <optional>
#include <string_view>

#include <spire/observer.h>

#include "engine/observe/formatting.h"
#include "engine/observe/report_text.h"

namespace spire {

// The observer that console_observer() (spire/observer.h) returns.
class Console : public Observer {
 public:
  // Both streams must outlive the console.
  Console(std::ostream& log, std::ostream& results, ConsoleOptions options);

  void on_start(const StartInfo& start) override;
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_test(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  void on_note(std::string_view text) override;
  void on_warning(std::string_view text) override;
  void on_end(const RunSummary& summary) override;

 private:
  using Time = std::chrono::system_clock::time_point;

  bool due() const;      // true if it is time to show progress again
  void show_progress();  // shows last_step_ now
  // Prints a whole line, above the progress line.
  void print(std::string_view text, std::string_view colour);

  std::ostream& log_;
  std::ostream& results_;
  const ConsoleOptions options_;
  LineContext context_;
  StepReport last_step_;
  bool stale_ = false;            // last_step_ has not been shown yet
  bool drawn_ = false;            // the cursor is in a progress line
  std::optional<Time> shown_at_;  // when progress was last shown
};

}  // namespace spire
