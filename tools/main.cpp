// Parses, calls the engine, and turns what happened into an exit code; <spire/base/error.h> lists
// the codes. The last line on stderr of a failed run is error[CODE]: message.
#include <spire/base/error.h>

#include <algorithm>
#include <cstdio>

#include "commands.h"

namespace {

// All lines of a long message go first, so that the last line always has the same form. Those of a
// config are a problem each; of others the first says what is wrong, and a table explains it.
int report(int code, const std::string& message) {
  std::fflush(stdout);
  size_t end = message.find('\n');
  if (end == std::string::npos) {
    fmt::print(stderr, "error[{}]: {}\n", code, message);
  } else if (code == static_cast<int>(spire::Category::config)) {
    auto lines = 1 + std::count(message.begin(), message.end(), '\n');
    fmt::print(stderr, "{}\nerror[{}]: {} problems, listed above; the first: {}\n", message, code,
               lines, message.substr(0, end));
  } else {
    fmt::print(stderr, "{}\nerror[{}]: {}\n", message.substr(end + 1), code,
               message.substr(0, end));
  }
  return code;
}

int run(int argc, char** argv) {
  auto arguments = spire::tool::parse_arguments({argv + 1, argv + argc});
  int code = 0;
  if (arguments.command.empty()) {
    fmt::print("{}", arguments.help);
  } else {
    code = spire::tool::find_command(arguments.command).run(arguments);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("stdout cannot be written");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const spire::Error& error) {
    return report(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(1, "this machine is out of memory");
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}
