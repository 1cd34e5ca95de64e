// What `trainer` does from its first word to its exit code: checks the limits of the process,
// parses, runs the subcommand, and turns errors into the exit codes of <spire/error.h>. The last
// line on stderr of a failed run is error[CODE]: message.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sys/resource.h>

#include <execinfo.h>
#include <malloc.h>
#include <unistd.h>

#include <spire/trainer_main.h>

#include "engine/base/fail.h"
#include "engine/base/processor.h"
#include "engine/base/system.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/output/streams.h"

namespace spire {
namespace {

constexpr rlim_t min_stack_bytes = 512 << 10;  // a training step takes less than half of it
// A run opens about ten files at a time, and GPU libraries end the program where they cannot load
// their parts.
constexpr rlim_t min_files = 24;

void check_stack() {
  rlimit stack = {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= min_stack_bytes) return;
  fail(Category::device,
       "the limit on stacks is {} KiB (ulimit -s), and the program needs {}; type: ulimit -s 8192",
       stack.rlim_cur >> 10, min_stack_bytes >> 10);
}

void check_files() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= min_files) return;
  fail(Category::device,
       "the limit on open files is {} (ulimit -n), and the program needs {}; type: ulimit -n 1024",
       files.rlim_cur, min_files);
}

// Throws Error(device), which names the limit and the command that raises it, where stacks or open
// files are limited to too few.
void check_process_limits() {
  check_stack();
  check_files();
}

// Where the memory of the process is limited: an arena for each thread would take 64 MiB of
// addresses, and libgcc_s is loaded when it is first needed, which may be for want of memory.
void prepare_for_limits() {
  void* caller = nullptr;
  backtrace(&caller, 1);
  for (auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit = {};
    if (getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
  }
}

// An atexit() handler has no argument, so its state is static.
std::atomic<bool> in_main = false;

// _exit() and not exit(): other threads still run, and destructors would pull data from under them.
void end_after_library_exit() {
  if (!in_main) return;
  int code = static_cast<int>(Category::device);
  print_log(
      "error[{}]: a library ended the program, for the reason above; where that was a thread: {}\n",
      code, thread_limits());
  _exit(code);
}

// Turns an exit() called by a library during its lifetime into a line on stderr and code 3. OpenMP
// calls exit(1) where the system refuses a thread, and 1 would restart the run.
class ExitGuard {
 public:
  ExitGuard() {
    if (std::atexit(end_after_library_exit) == 0) in_main = true;
  }
  ~ExitGuard() { in_main = false; }
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;
};

// Prints the error and returns its exit code. The lines of a long message come first, so that the
// last line always has the same form. Each line of a config error is one problem; in other errors
// the first line says what is wrong and the others are a table.
int report(const Error& error) {
  int code = error.exit_code();
  std::string message = error.what();
  flush_results();
  size_t end = message.find('\n');
  std::string first = message.substr(0, end);
  if (end == std::string::npos) {
    print_log("error[{}]: {}\n", code, first);
  } else if (error.category() == Category::config) {
    auto lines = 1 + std::count(message.begin(), message.end(), '\n');
    log_text(message + "\n");
    print_log("error[{}]: {} problems, listed above; the first: {}\n", code, lines, first);
  } else {
    log_text(message.substr(end + 1) + "\n");
    print_log("error[{}]: {}\n", code, first);
  }
  return code;
}

// Flushes stdout. Lost results are an error, or a warning where the run's files hold them, too.
void end_results(const Arguments& arguments) {
  std::string lost = flush_results();
  if (lost.empty()) return;
  if (!keeps_results(arguments)) throw Error(Category::device, lost);
  print_log("warning: {}; the run's summary.json holds its results\n", lost);
}

int run(int argc, char** argv, const PhaseHook& on_phase) {
  require_processor();
  check_process_limits();
  prepare_for_limits();
  Arguments arguments = parse_arguments({argv + 1, argv + argc});
  arguments.on_phase = on_phase;
  int code = 0;
  if (arguments.command.empty()) {
    result_text(arguments.help);
  } else {
    code = find_command(arguments.command).run(arguments);
  }
  if (code == 0) end_results(arguments);
  return code;
}

}  // namespace

int trainer_main(int argc, char** argv, const PhaseHook& on_phase) {
  open_missing_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a write to a closed pipe then fails with EPIPE
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` then fails with EFBIG
  LossyStream lossy(std::cerr);
  ExitGuard exit_guard;
  leave_hdf5_open_at_exit();
  try {
    return run(argc, argv, on_phase);
  } catch (const std::exception& error) {
    return report(classify(error));
  }
}

}  // namespace spire
