#include "tools/work_line.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/observe/units.h"

namespace spire::tool {

namespace {

constexpr double redraw_seconds = 0.1;

std::string amount(double value, std::string_view unit) {
  auto whole = static_cast<int64_t>(value);
  return unit == "bytes" ? bytes_text(whole) : fmt::format("{} {}", count_text(whole), unit);
}

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string work_text(const WorkProgress& progress, int64_t begun, double seconds) {
  auto done = static_cast<double>(progress.done), total = static_cast<double>(progress.total);
  double rate = seconds > 0 ? (done - static_cast<double>(begun)) / seconds : 0;
  std::string_view unit = progress.unit;
  std::string of = unit == "bytes" ? bytes_text(progress.done) : count_text(progress.done);
  return fmt::format("{}/{}  {:.0f}%  {}/s  eta {}", of, amount(total, unit),
                     total > 0 ? 100 * done / total : 100, amount(rate, unit),
                     rate > 0 ? duration_text((total - done) / rate) : "-");
}

WorkLine::WorkLine(std::ostream& log, std::string verb, Terminal terminal, double every_seconds,
                   bool quiet, Clock now)
    : log_(log),
      verb_(std::move(verb)),
      terminal_(std::move(terminal)),
      every_seconds_(every_seconds),
      quiet_(quiet),
      now_(std::move(now)) {}

WorkLine::~WorkLine() {
  if (drawn_) log_ << '\n' << std::flush;
}

bool WorkLine::due(std::chrono::steady_clock::time_point now) const {
  double period = terminal_.interactive ? redraw_seconds : every_seconds_;
  return !shown_at_ || seconds_between(*shown_at_, now) >= period;
}

// The first call tells where the work begins; a file is told of it only once some is done.
void WorkLine::show(const WorkProgress& progress) {
  if (quiet_) return;
  auto now = now_();
  if (!begun_at_) {
    begun_at_ = now;
    begun_ = progress.done;
    if (!terminal_.interactive) shown_at_ = now;
  }
  bool last = terminal_.interactive && progress.done == progress.total;
  if (!due(now) && !last) return;
  std::string line = verb_ + " " + work_text(progress, begun_, seconds_between(*begun_at_, now));
  if (terminal_.interactive) {
    // The last column stays free: filling it makes some terminals begin a new line.
    auto width = static_cast<size_t>(std::max(terminal_.width() - 1, 0));
    log_ << "\r\x1b[K" << line.substr(0, width) << std::flush;
    drawn_ = true;
  } else {
    log_ << utc_text(wall_time()) << ' ' << line << '\n' << std::flush;
  }
  shown_at_ = now;
}

}  // namespace spire::tool
