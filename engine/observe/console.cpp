#include "engine/observe/console.h"

#include <cstdlib>
#include <ostream>
#include <sys/ioctl.h>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/text.h"

namespace spire {
namespace {

// An unset variable reads as an empty one; NO_COLOR counts when it is not empty (no-color.org).
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Asks each time, since a window may change its size during the run.
int columns(int descriptor) {
  winsize size{};
  bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

constexpr double redraw_seconds = 0.1;
constexpr std::string_view clear_line = "\r\x1b[K";  // to the line's start, then erase its rest
constexpr std::string_view yellow = "\x1b[33m", green = "\x1b[32m", reset = "\x1b[0m";

}  // namespace

// A file, a pipe or TERM=dumb is not interactive.
Terminal terminal_of(int descriptor) {
  Terminal terminal;
  terminal.interactive = ::isatty(descriptor) == 1 && variable("TERM") != "dumb";
  terminal.colour = terminal.interactive && variable("NO_COLOR").empty();
  terminal.width = [descriptor] { return columns(descriptor); };
  return terminal;
}

Console::Console(std::ostream& log, std::ostream& results, ConsoleOptions options)
    : log_(log), results_(results), options_(std::move(options)) {}

void Console::on_start(const StartInfo& start) {
  context_ = {start.epochs, start.processes};
  if (options_.quiet) return;
  log_ << start_block(start) << '\n' << std::flush;
}

void Console::on_step(const StepReport& step) {
  if (options_.quiet) return;
  last_step_ = step;
  stale_ = true;
  if (due()) show_progress();
}

// Tells whether progress is to be shown. A clock that was set back counts as due, so that progress
// never freezes.
bool Console::due() const {
  if (!shown_at_) return true;
  double period = options_.terminal.interactive ? redraw_seconds : options_.every_seconds;
  std::chrono::duration<double> passed = options_.now() - *shown_at_;
  return passed.count() < 0 || passed.count() >= period;
}

void Console::show_progress() {
  if (options_.terminal.interactive) {
    // The last column stays free: filling it makes some terminals begin a new line.
    int width = options_.terminal.width() - 1;
    log_ << clear_line << progress_line(last_step_, context_, width, options_.terminal.colour);
    drawn_ = true;
  } else {
    log_ << plain_line(last_step_, context_, options_.now()) << '\n';
  }
  log_ << std::flush;
  shown_at_ = options_.now();
  stale_ = false;
}

void Console::print(std::string_view text, std::string_view colour) {
  std::string line = printable(text);
  // On a terminal the line replaces the progress line, which is drawn again below it.
  bool redraw = drawn_;
  if (drawn_) log_ << clear_line;
  if (!options_.terminal.interactive) log_ << utc_text(options_.now()) << ' ';
  if (options_.terminal.colour && !colour.empty())
    log_ << colour << line << reset << '\n';
  else
    log_ << line << '\n';
  if (redraw) show_progress();
  log_ << std::flush;
}

void Console::on_eval(const EvalReport& eval) {
  if (options_.quiet) return;
  // In a log, the progress of the step that was evaluated comes first.
  if (stale_ && !options_.terminal.interactive) show_progress();
  print(eval_line(eval), eval.best ? green : "");
}

void Console::on_test(const EvalReport& eval) {
  if (!options_.quiet) print(test_line(eval), "");
}

// Checkpoints are not shown on a terminal, where they would push evaluations off the screen.
void Console::on_checkpoint(const CheckpointReport& checkpoint) {
  if (!options_.quiet && !options_.terminal.interactive) print(checkpoint_line(checkpoint), "");
}

void Console::on_note(std::string_view text) {
  if (!options_.quiet) print(text, "");
}

// Warnings are printed in quiet runs, too.
void Console::on_warning(std::string_view text) {
  print(fmt::format("warning: {}", text), yellow);
}

void Console::on_end(const RunSummary& summary) {
  if (stale_) show_progress();
  if (drawn_) log_ << '\n';  // leaves the progress line
  drawn_ = false;
  if (!options_.quiet) log_ << '\n';
  log_ << std::flush;
  results_ << end_block(summary) << std::flush;
}

}  // namespace spire
