// How far a long piece of work is, on stderr.
#pragma once
#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

#include "engine/data/convert/convert.h"
#include "engine/observe/terminal.h"

namespace spire::tool {

// "12 800/60 000 rows  21%  4 312 rows/s  eta 0:11"; bytes as MiB. `begun` was done before the work
// that took `seconds`. eta "-" until something is done.
std::string work_text(const WorkProgress& progress, int64_t begun, double seconds);

// Rewrites one line on a terminal, ten times a second; elsewhere a line every so many seconds.
class WorkLine {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // verb: "converted". quiet: nothing is written.
  WorkLine(std::ostream& log, std::string verb, Terminal terminal, double every_seconds, bool quiet,
           Clock now = std::chrono::steady_clock::now);
  ~WorkLine();  // a drawn line is ended
  WorkLine(const WorkLine&) = delete;
  WorkLine& operator=(const WorkLine&) = delete;

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

}  // namespace spire::tool
