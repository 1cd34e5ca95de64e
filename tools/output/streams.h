// Output of the program: results go to stdout or to the target of --to, everything else to stderr.
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

#include "engine/base/fail.h"
#include "engine/base/write_file.h"
#include "tools/process/descriptor.h"

namespace spire {

// Opens those of the descriptors 0, 1 and 2 that the parent process left closed, so that no file of
// the run gets such a number. Reads and writes of these descriptors still fail. Call it first.
void open_missing_streams();

// While this lives, output that `stream` fails to write is dropped and the stream stays good().
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

// Writes to stderr at once, without buffering. Throws only std::bad_alloc.
void log_text(std::string_view text);
// Control characters of the strings among the arguments are escaped, as in an error's message.
template <typename... Args>
void print_log(fmt::format_string<Args...> format, Args&&... args) {
  log_text(message_text(format, fmt::make_format_args(args...)));
}

// Writes to stdout. Throws Error(device) if this or an earlier write failed (disk full).
void result_text(std::string_view text);
template <typename... Args>  // as print_log()
void print_result(fmt::format_string<Args...> format, Args&&... args) {
  result_text(message_text(format, fmt::make_format_args(args...)));
}

std::string flush_results();  // flushes stdout; returns why text was lost; empty if none was

// The set of files that a command reads, identified by device and inode.
class InputFiles {
 public:
  void add(const std::filesystem::path& path);  // does nothing unless it is a regular file
  void refuse_as_target(const std::filesystem::path& path) const;  // throws Error(config) if added

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

// Writes text to stdout, a file or a stream.
// - A regular file appears under its name when finish() is called. Without `overwrite` an existing
//   file is replaced only if it is empty.
// - An open descriptor (/dev/stdout, /dev/fd/3, bash's `>(command)`), a FIFO with a reader or a
//   character device receives each text at once. Other targets are refused. Links are followed.
// - To a stream, write() throws Error(interrupted) once *stop is true.
// Throws Error(config) for a target that cannot be opened, Error(device) for a failed write.
class TextOutput {
 public:
  // to: the value of --to; empty means stdout. stop: may be null.
  TextOutput(const std::string& to, bool overwrite, const std::atomic<bool>* stop);

  void write(std::string_view text);
  // Makes what was written to stdout visible to its reader. Does nothing for other targets.
  void flush();
  void finish();  // call it once, at the end

 private:
  void write_stream(std::string_view text) const;
  [[noreturn]] void fail_stream() const;  // with errno's text

  std::string to_;
  const std::atomic<bool>* stop_;
  std::optional<AtomicWriter> file_;
  Descriptor stream_;
};

// A command's file is replaced unasked where what is there is such a file, too. Throws
// Error(config) for a file that begins in another way, which somebody else wrote.
enum class ReplaceableFile { page, range_test, timeline };
void require_replaceable(const std::filesystem::path& path, ReplaceableFile kind);

}  // namespace spire
