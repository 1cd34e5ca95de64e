// Standard streams of the program: results on stdout, everything else on stderr. A stderr that
// nobody can read does not change how a run ends.
#pragma once
#include <memory>
#include <ostream>
#include <streambuf>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace spire::tool {

// Opens those of descriptors 0, 1 and 2 that the parent left closed, so that no file of the run
// gets such a number and with it the lines of the log. Reads and writes there fail. Call it before
// anything else is opened.
void open_missing_streams();

// Drops what `stream` cannot write during its lifetime and keeps the stream good: when a full disk
// has room again, the log continues.
class LossyStream {
 public:
  explicit LossyStream(std::ostream& stream);
  ~LossyStream();
  LossyStream(const LossyStream&) = delete;
  LossyStream& operator=(const LossyStream&) = delete;

 private:
  std::ostream& stream_;
  std::streambuf* before_;
  std::unique_ptr<std::streambuf> lossy_;
};

// Writes to stderr, unbuffered, in one piece. Throws only std::bad_alloc.
void log_text(std::string_view text);
template <typename... Args>
void print_log(fmt::format_string<Args...> format, Args&&... args) {
  log_text(fmt::format(format, std::forward<Args>(args)...));
}

// Writes to stdout. Throws Error(device) once a write has failed.
void result_text(std::string_view text);
template <typename... Args>
void print_result(fmt::format_string<Args...> format, Args&&... args) {
  result_text(fmt::format(format, std::forward<Args>(args)...));
}

// Flushes stdout. Returns why text was lost, or an empty string.
std::string flush_results();

}  // namespace spire::tool
