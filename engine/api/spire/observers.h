// The observers of `trainer`, for programs that embed runs: lines for people, the files of a run,
// and what answers Prometheus and browsers. An ObserverList joins several.
#pragma once
#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string_view>

#include <spire/export.h>
#include <spire/observer.h>
#include <spire/run_config.h>

namespace spire {

// Capabilities of a stream that may be a terminal.
struct Terminal {
  bool interactive = false;                        // a line can be rewritten in place
  bool colour = false;                             // implies interactive
  std::function<int()> width = [] { return 80; };  // columns at this moment
};

// Of an open descriptor; respects the environment variables NO_COLOR and TERM.
SPIRE_API Terminal terminal_of(int descriptor);

struct ConsoleOptions {
  Terminal terminal = {};       // of the log stream
  double every_seconds = 10.0;  // between progress lines if the log is no terminal
  bool quiet = false;           // print only warnings and the end block
  bool warnings = true;         // print warnings
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

// Writes the end block to `results` and all else to `log`; both outlive the observer. On a terminal
// one progress line is rewritten in place, at most ten times a second, and other text is printed
// above it. Elsewhere progress is a timestamped line without escapes: for the first and the last
// step, every `every_seconds`, and before an evaluation.
SPIRE_API std::unique_ptr<Observer> console_observer(std::ostream& log, std::ostream& results,
                                                     const ConsoleOptions& options = {});

// Receives a line of text, on the thread of the run.
using SayLine = std::function<void(std::string_view)>;

// Writes the files of a run into config.output: metrics.jsonl, audit.jsonl and summary.json
// (docs/metrics.md), and with log.tensorboard the folder tensorboard. warn: set; called once for
// each file that cannot be written. on_start() throws Error(config) for files that cannot be
// opened.
SPIRE_API std::unique_ptr<Observer> file_observer(const RunConfig& config, const SayLine& warn);

// Serves the run by HTTP until its end, from now on, where monitor.prometheus and monitor.serve say
// (docs/monitoring.md); "none" in both: it does nothing. note, warn: set; called in on_start(),
// with the addresses, and where other machines reach them. Throws Error(config) for an address that
// cannot be used. Threads of its own answer.
SPIRE_API std::unique_ptr<Observer> http_observer(const RunConfig& config, const SayLine& note,
                                                  const SayLine& warn);

}  // namespace spire
