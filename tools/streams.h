// The program's standard streams: results on stdout, all else on stderr. That nobody can read what
// it says is no reason for a run to end, and must not change how it ends.
#pragma once
#include <memory>
#include <ostream>
#include <streambuf>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace spire::tool {

// Opens those of descriptors 0, 1 and 2 that whoever started the program has left closed, so that
// no file of the run gets such a number and then the log's lines. What is read or written there
// fails. To be called before anything is opened.
void open_missing_streams();

// While one lives, what `stream` cannot write is dropped and the stream stays good: once a full
// disk has room again, the log goes on.
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

// Writes to stderr, at once and as one piece. Throws nothing but std::bad_alloc.
void log_text(std::string_view text);
template <typename... Args>
void print_log(fmt::format_string<Args...> format, Args&&... args) {
  log_text(fmt::format(format, std::forward<Args>(args)...));
}

// Writes to stdout. Throws Error(device) once it is known that something did not get there.
void result_text(std::string_view text);
template <typename... Args>
void print_result(fmt::format_string<Args...> format, Args&&... args) {
  result_text(fmt::format(format, std::forward<Args>(args)...));
}

// Writes out what is still held back for stdout; why something of it is lost, or empty.
std::string flush_results();

}  // namespace spire::tool
