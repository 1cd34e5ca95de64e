#include "tools/output/streams.h"

#include <cerrno>
#include <cstring>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include <spire/error.h>

namespace spire::tool {

namespace {

// Reports every write as done, so that the stream never enters a failed state.
class LossyBuffer : public std::streambuf {
 public:
  explicit LossyBuffer(std::streambuf* out) : out_(out) {}

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    out_->sputn(text, size);
    return size;
  }
  int overflow(int c) override {
    if (c != traits_type::eof()) out_->sputc(static_cast<char>(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    out_->pubsync();
    return 0;
  }

  std::streambuf* out_;
};

// error: errno of the failing write; 0 once stdout is in a failed state, which hides the reason.
std::string why_lost(int error) {
  return fmt::format("stdout cannot be written{}{}", error == 0 ? "" : ": ",
                     error == 0 ? "" : std::strerror(error));
}

}  // namespace

// Each stream is opened for the direction that it is not used in, so that reads and writes fail.
// The root directory stands in where /dev/null is missing.
void open_missing_streams() {
  for (int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    int flags = number == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    int opened = open("/dev/null", flags);  // open() returns the lowest free number
    if (opened < 0) opened = open("/", O_PATH | O_DIRECTORY);
  }
}

LossyStream::LossyStream(std::ostream& stream)
    : stream_(stream),
      before_(stream.rdbuf()),
      lossy_(std::make_unique<LossyBuffer>(stream.rdbuf())) {
  stream_.rdbuf(lossy_.get());
}

LossyStream::~LossyStream() {
  stream_.rdbuf(before_);
}

void log_text(std::string_view text) {
  std::cerr.write(text.data(), std::ssize(text)).flush();
}

void result_text(std::string_view text) {
  errno = 0;
  if (std::cout.write(text.data(), std::ssize(text))) return;
  throw Error(Category::device, why_lost(errno));
}

std::string flush_results() {
  errno = 0;
  std::cout.flush();
  return std::cout ? "" : why_lost(errno);
}

}  // namespace spire::tool
