#include "tools/output/progress.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/text.h"

namespace spire {

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

// Progress is of level info.
bool hides_progress(const Arguments& arguments) {
  return arguments.quiet || arguments.log_level != "info";
}

}  // namespace

std::unique_ptr<Observer> make_console(const Arguments& arguments, const RunConfig& config) {
  ConsoleOptions options;
  options.terminal = terminal_of(STDERR_FILENO);
  options.every_seconds = config.log.every_seconds;
  options.quiet = hides_progress(arguments);
  options.warnings = arguments.log_level != "error";
  return console_observer(std::cerr, std::cout, options);
}

std::unique_ptr<Observer> make_observers(const Arguments& arguments, const RunConfig& config) {
  auto all = std::make_unique<ObserverList>();
  auto warn = [shown = all.get()](std::string_view text) { shown->on_warning(text); };
  auto note = [shown = all.get()](std::string_view text) { shown->on_note(text); };
  // Files before the console: when it prints the result, that is on disk.
  if (arguments.dry_run == 0) all->add(file_observer(config, warn));
  all->add(make_console(arguments, config));
  // Addresses last: they are printed behind the start block.
  all->add(http_observer(config, note, warn));
  return all;
}

std::string progress_text(const WorkProgress& progress, int64_t begun, double seconds) {
  auto done = static_cast<double>(progress.done), total = static_cast<double>(progress.total);
  double rate = seconds > 0 ? (done - static_cast<double>(begun)) / seconds : 0;
  std::string_view unit = progress.unit;
  std::string of = unit == "bytes" ? bytes_text(progress.done) : count_text(progress.done);
  return fmt::format("{}/{}  {:.0f}%  {}/s  eta {}", of, amount(total, unit),
                     total > 0 ? 100 * done / total : 100, amount(rate, unit),
                     rate > 0 ? duration_text((total - done) / rate) : "-");
}

ProgressLine::ProgressLine(std::ostream& log, std::string verb, Terminal terminal,
                           double every_seconds, bool quiet, Clock now)
    : log_(log),
      verb_(std::move(verb)),
      terminal_(std::move(terminal)),
      every_seconds_(every_seconds),
      quiet_(quiet),
      now_(std::move(now)) {}

ProgressLine::~ProgressLine() {
  if (drawn_) log_ << '\n' << std::flush;
}

// Bounds the lines, as progress may be reported thousands of times a second.
bool ProgressLine::due(std::chrono::steady_clock::time_point now) const {
  double period = terminal_.interactive ? redraw_seconds : every_seconds_;
  return !shown_at_ || seconds_between(*shown_at_, now) >= period;
}

// The first call marks the beginning of the work. A log file gets its first line one period later.
void ProgressLine::show(const WorkProgress& progress) {
  if (quiet_) return;
  auto now = now_();
  if (!begun_at_) {
    begun_at_ = now;
    begun_ = progress.done;
    if (!terminal_.interactive) shown_at_ = now;
  }
  bool last = terminal_.interactive && progress.done == progress.total;
  if (!due(now) && !last) return;
  std::string line =
      verb_ + " " + progress_text(progress, begun_, seconds_between(*begun_at_, now));
  if (terminal_.interactive) {
    // The last column stays free: filling it makes some terminals begin a new line.
    auto width = static_cast<size_t>(std::max(terminal_.width() - 1, 0));
    log_ << "\r\x1b[K" << line.substr(0, width) << std::flush;
    drawn_ = true;
  } else {
    log_ << utc_text(std::chrono::system_clock::now()) << ' ' << line << '\n' << std::flush;
  }
  shown_at_ = now;
}

ProgressLine make_progress_line(const std::string& verb, const Arguments& arguments,
                                const RunConfig& config) {
  return ProgressLine(std::cerr, verb, terminal_of(STDERR_FILENO), config.log.every_seconds,
                      hides_progress(arguments));
}

}  // namespace spire
