// Output of the program: results on stdout or to the target of --to, everything else on stderr.
#pragma once
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <streambuf>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

#include <fmt/format.h>

#include "engine/base/write_file.h"

namespace spire::tool {

// Opens those of descriptors 0, 1 and 2 that the parent left closed, so that no file of the run
// gets such a number. Reads and writes there fail. Call it first.
void open_missing_streams();

// Drops what `stream` cannot write during its lifetime and keeps the stream good.
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

// Writes to stderr, unbuffered, by one call. Throws only std::bad_alloc.
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

std::string flush_results();  // flushes stdout; returns the reason if text was lost, or ""

// Files that a command reads, by device and inode.
class InputFiles {
 public:
  void add(const std::filesystem::path& path);  // ignores a path without a regular file
  void refuse_as_target(const std::filesystem::path& path) const;  // throws Error(config) if added

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

// Writes text to stdout, a file or a stream.
// - A regular file appears when finish() commits it. Without `overwrite` only an empty one is
// replaced.
// - An open descriptor (/dev/stdout, /dev/fd/3, `>(a pipe)`), a FIFO with a reader and a character
//   device take the text as it comes. Anything else is refused. Links are followed.
// - `stop` ends the wait for a slow reader with Error(interrupted).
// Throws Error(config) for a target that cannot be opened, Error(device) for a failed write.
class TextOutput {
 public:
  TextOutput(const std::string& to, bool overwrite,
             const std::atomic<bool>* stop);  // to: the value of --to; "": stdout
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  void write(std::string_view text);
  void finish();  // once, at the end

 private:
  void write_stream(std::string_view text) const;
  [[noreturn]] void fail_stream() const;  // the message holds errno

  std::string to_;
  const std::atomic<bool>* stop_;
  std::optional<AtomicWriter> file_;
  int stream_ = -1;
};

}  // namespace spire::tool
