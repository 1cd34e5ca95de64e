// Where the text that a command makes goes: stdout, a file, or something that takes a stream.
#pragma once
#include <atomic>
#include <optional>
#include <string>

#include "engine/base/write_file.h"

namespace spire::tool {

// A regular file is there when all is written, and only an empty one is replaced without
// `overwrite`; a link is followed. What is open under a name (/dev/stdout, /dev/fd/3, `>(a pipe)`),
// a FIFO that somebody reads and a character device take the text as it comes. Anything else is
// refused. Every error names the target: Error(config) for one that cannot be opened or replaced,
// Error(device) for one that does not take all of the text. `stop` ends a wait for a slow reader,
// by Error(interrupted).
class TextOutput {
 public:
  // to: the word of --to; empty: stdout.
  TextOutput(const std::string& to, bool overwrite, const std::atomic<bool>* stop);
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  void write(std::string_view text);
  void finish();  // once, at the end

 private:
  void write_stream(std::string_view text) const;
  [[noreturn]] void fail_stream() const;  // errno

  std::string to_;
  const std::atomic<bool>* stop_;
  std::optional<AtomicWriter> file_;
  int stream_ = -1;
};

}  // namespace spire::tool
