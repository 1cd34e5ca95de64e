#include "engine/observe/terminal.h"

#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>

#include <unistd.h>

namespace spire::inline observe {
namespace {

// An unset variable reads as an empty one; NO_COLOR counts when it is not empty (no-color.org).
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int columns(int descriptor) {
  winsize size{};
  bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  terminal.interactive = ::isatty(descriptor) == 1 && variable("TERM") != "dumb";
  terminal.colour = terminal.interactive && variable("NO_COLOR").empty();
  terminal.width = [descriptor] { return columns(descriptor); };
  return terminal;
}

}  // namespace spire::inline observe
