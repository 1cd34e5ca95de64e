// Prints the events of a run for people: start block, progress, evaluations, warnings, end block.
#pragma once
#include <chrono>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string_view>

#include <spire/observer.h>

#include "engine/observe/formatting.h"
#include "engine/observe/report_text.h"

namespace spire::inline observe {

// Capabilities of a stream that may be a terminal.
struct Terminal {
  bool interactive = false;                        // a line can be rewritten in place
  bool colour = false;                             // implies interactive
  std::function<int()> width = [] { return 80; };  // columns at this moment
};

Terminal terminal_of(int descriptor);  // respects the variables NO_COLOR and TERM

struct ConsoleOptions {
  Terminal terminal;            // of the log stream
  double every_seconds = 10.0;  // between progress lines if the log is no terminal
  bool quiet = false;           // print only warnings and the end block
  WallClock now = wall_time;
};

// Writes the end block to `results` and all else to `log`. On a terminal one progress line is
// rewritten in place, at most ten times a second, and other text is printed above it. Elsewhere
// progress is a timestamped line without escapes: for the first and the last step, every
// `every_seconds`, and before an evaluation.
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
  void print(std::string_view line, std::string_view colour);

  std::ostream& log_;
  std::ostream& results_;
  const ConsoleOptions options_;
  LineContext context_;
  StepReport last_step_;
  bool stale_ = false;            // last_step_ has not been shown yet
  bool drawn_ = false;            // the cursor is in a progress line
  std::optional<Time> shown_at_;  // when progress was last shown
};

}  // namespace spire::inline observe
