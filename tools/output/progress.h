// The observers of a run, and the progress line of dataset commands.
#pragma once
#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include <spire/dataset_tools.h>
#include <spire/observer.h>
#include <spire/run_config.h>

#include "tools/arguments.h"

namespace spire {

// Prints progress and warnings on stderr, if --quiet and --log-level allow, and results on stdout.
std::unique_ptr<Observer> make_console(const Arguments& arguments, const RunConfig& config);

// Returns the console with the writers of the run's files (not in a dry run) and the HTTP server
// for Prometheus and browsers. Throws Error(config) if an address cannot be used.
std::unique_ptr<Observer> make_observers(const Arguments& arguments, const RunConfig& config);

// Returns "12 800/60 000 rows  21%  4 312 rows/s  eta 0:11"; bytes are shown as MiB and the like.
// begun: the amount that was done `seconds` ago, when work began. While the rate is 0, eta is "-".
std::string progress_text(const WorkProgress& progress, int64_t begun, double seconds);

// On a terminal, rewrites one line ten times per second; else writes a line every `every_seconds`.
class ProgressLine {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // verb: first word of the line, such as "converted". quiet: writes nothing.
  ProgressLine(std::ostream& log, std::string verb, Terminal terminal, double every_seconds,
               bool quiet, Clock now = std::chrono::steady_clock::now);
  ~ProgressLine();  // ends the line on a terminal
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const WorkProgress& progress);

 private:
  bool due(std::chrono::steady_clock::time_point now) const;

  std::ostream& log_;
  std::string verb_;
  Terminal terminal_;
  double every_seconds_;
  bool quiet_;
  Clock now_;
  std::optional<std::chrono::steady_clock::time_point> begun_at_, shown_at_;
  int64_t begun_ = 0;
  bool drawn_ = false;
};

ProgressLine make_progress_line(const std::string& verb, const Arguments& arguments,
                                const RunConfig& config);  // on stderr

}  // namespace spire
