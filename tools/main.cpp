// Entry of `trainer`: parses, calls the engine, and turns errors into the exit codes of
// <spire/error.h>. The last line on stderr of a failed run is error[CODE]: message.
#include <algorithm>
#include <csignal>
#include <iostream>

#include <spire/error.h>

#include "engine/base/hdf5.h"
#include "tools/commands.h"
#include "tools/output/streams.h"
#include "tools/process/process_guard.h"

namespace {

using spire::tool::print_log;

// Prints the error and returns its exit code. The lines of a long message come first, so that the
// last line always has the same form. Each line of a config error is one problem; in other errors
// the first line says what is wrong and the others are a table.
int report(const spire::Error& error) {
  int code = error.exit_code();
  std::string message = error.what();
  spire::tool::flush_results();
  size_t end = message.find('\n');
  if (end == std::string::npos) {
    print_log("error[{}]: {}\n", code, message);
  } else if (error.category() == spire::Category::config) {
    auto lines = 1 + std::count(message.begin(), message.end(), '\n');
    print_log("{}\nerror[{}]: {} problems, listed above; the first: {}\n", message, code, lines,
              message.substr(0, end));
  } else {
    print_log("{}\nerror[{}]: {}\n", message.substr(end + 1), code, message.substr(0, end));
  }
  return code;
}

// Flushes stdout. Lost results are an error, or a warning where the run's files hold them, too.
void end_results(const spire::tool::Arguments& arguments) {
  std::string lost = spire::tool::flush_results();
  if (lost.empty()) return;
  if (!spire::tool::keeps_results(arguments)) throw spire::Error(spire::Category::device, lost);
  print_log("warning: {}; the run's summary.json holds its results\n", lost);
}

int run(int argc, char** argv) {
  spire::tool::check_process_limits();
  auto arguments = spire::tool::parse_arguments({argv + 1, argv + argc});
  int code = 0;
  if (arguments.command.empty()) {
    spire::tool::result_text(arguments.help);
  } else {
    code = spire::tool::find_command(arguments.command).run(arguments);
  }
  if (code == 0) end_results(arguments);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  spire::tool::open_missing_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a write to a closed pipe then fails with EPIPE
  spire::tool::LossyStream lossy(std::cerr);
  spire::tool::ExitGuard exit_guard;
  spire::h5::leave_open_at_exit();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return report(spire::classify(error));
  }
}
