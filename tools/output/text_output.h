// Text output of a command (--to) and the input files that it must not overwrite.
#pragma once
#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>

#include "engine/base/atomic_file.h"

namespace spire::tool {

// Set of the files that a command reads, by device and inode.
class InputFiles {
 public:
  void add(const std::filesystem::path& path);  // ignores a path without a regular file
  // Throws Error(config) where `path` is one of the files, under any name.
  void refuse_as_target(const std::filesystem::path& path) const;

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

// Writes text to stdout, a file or a stream.
// - A regular file appears when finish() commits it. Only an empty file is replaced without
//   `overwrite`; links are followed.
// - An open descriptor (/dev/stdout, /dev/fd/3, `>(a pipe)`), a FIFO with a reader and a character
//   device take the text as it comes. Anything else is refused.
// - `stop` ends the wait for a slow reader with Error(interrupted).
// Throws Error(config) for a target that cannot be opened or replaced, Error(device) for one that
// does not take all of the text; both name the target.
class TextOutput {
 public:
  // to: the value of --to; empty: stdout.
  TextOutput(const std::string& to, bool overwrite, const std::atomic<bool>* stop);
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
