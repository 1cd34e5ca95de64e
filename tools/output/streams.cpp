#include "tools/output/streams.h"

#include <cerrno>
#include <charconv>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/observe/page/page.h"

namespace spire {

namespace {

// Reports every write as done, so that the stream never enters a failed state: when a full disk has
// room again, the log continues.
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
                     error == 0 ? "" : system_reason(error));
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

namespace {

namespace fs = std::filesystem;

constexpr int max_links = 40;  // the limit of Linux (ELOOP)

[[noreturn]] void refuse(const std::string& to, const std::string& what) {
  fail(Category::config, "--to {}: {}", to, what);
}

// Returns the descriptor that the path names: 3 for /dev/fd/3 and /proc/self/fd/3.
std::optional<int> descriptor_of(const fs::path& path) {
  fs::path folder = path.parent_path();
  if (folder != "/dev/fd" && folder != "/proc/self/fd") return std::nullopt;
  std::string digits = path.filename();
  int number = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole ? std::optional(number) : std::nullopt;
}

// Target of --to behind its links: a path, or an open descriptor. /dev/stdout links to
// /proc/self/fd/1. A descriptor is duplicated and its file never opened again: the shell may
// already have written to it.
struct Target {
  fs::path path;
  std::optional<int> descriptor;
};

Target follow(const std::string& to) {
  Target target = {to, descriptor_of(to)};
  for (int links = 0; !target.descriptor; ++links) {
    std::error_code error;
    if (!fs::is_symlink(target.path, error)) return target;
    if (links == max_links) refuse(to, "too many links, one behind the other");
    target.path = target.path.parent_path() / fs::read_symlink(target.path);
    target.descriptor = descriptor_of(target.path.lexically_normal());
    bool there = fs::status(target.path, error).type() != fs::file_type::not_found;
    if (!target.descriptor && !there)
      refuse(to, fmt::format("is a link to {}, which is not there", target.path.string()));
  }
  return target;
}

// What to call any other kind than a file, FIFO or character device.
std::string_view kind_of_target(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

int duplicate(const std::string& to, int descriptor) {
  int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) refuse(to, "is not open");
  if ((flags & O_ACCMODE) == O_RDONLY) refuse(to, "is open for reading only");
  int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) refuse(to, fmt::format("cannot be opened: {}", system_reason(errno)));
  return copy;
}

int open_stream(const std::string& to, const fs::path& path) {
  int stream = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (stream < 0 && errno == ENXIO)
    refuse(to, "is a FIFO that nobody reads; start its reader first");
  if (stream < 0) refuse(to, fmt::format("cannot be opened: {}", system_reason(errno)));
  return stream;
}

// As to_csv() of a range test and trace_begin begin.
std::string_view beginning(ReplaceableFile kind) {
  switch (kind) {
    case ReplaceableFile::page:
      return page_beginning();
    case ReplaceableFile::range_test:
      return "step,lr,loss,smoothed\n";
    case ReplaceableFile::timeline:
      return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  }
  return "";
}

std::optional<std::pair<dev_t, ino_t>> device_and_inode(const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

}  // namespace

void InputFiles::add(const fs::path& path) {
  if (auto file = device_and_inode(path)) files_.insert(*file);
}

void InputFiles::refuse_as_target(const fs::path& path) const {
  auto file = device_and_inode(path);
  if (file && files_.contains(*file))
    fail(Category::config, "--to: {} is one of the inputs; choose another file", path.string());
}

TextOutput::TextOutput(const std::string& to, bool overwrite, const std::atomic<bool>* stop)
    : to_(to), stop_(stop) {
  if (to.empty()) return;
  Target target = follow(to);
  struct stat status = {};
  if (target.descriptor) {
    stream_ = Descriptor(duplicate(to, *target.descriptor));
  } else if (::stat(target.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode))
      refuse(to, fmt::format("is {}; name a file", kind_of_target(status.st_mode)));
    stream_ = Descriptor(open_stream(to, target.path));
  } else {
    make_folder_of(target.path);
    file_.emplace(target.path, Category::config, overwrite ? Existing::replace : Existing::keep);
  }
}

void TextOutput::write(std::string_view text) {
  if (file_) return file_->write(text);
  if (stream_ >= 0) return write_stream(text);
  result_text(text);
}

void TextOutput::flush() {
  if (file_ || stream_ >= 0) return;
  std::string lost = flush_results();
  if (!lost.empty()) throw Error(Category::device, lost);
}

void TextOutput::finish() {
  if (file_) file_->commit();
}

void TextOutput::fail_stream() const {
  fail(Category::device, "--to {}: cannot be written: {}", to_, system_reason(errno));
}

// Writes at most PIPE_BUF bytes after poll() reported room, which does not block. O_NONBLOCK would
// change the open file for all programs that share it.
void TextOutput::write_stream(std::string_view text) const {
  while (!text.empty()) {
    pollfd room = {.fd = stream_, .events = POLLOUT, .revents = 0};
    int ready = ::poll(&room, 1, 200);
    if (stop_ != nullptr && stop_->load())
      fail(Category::interrupted, "--to {}: stopped by a signal before all was written", to_);
    if (ready < 0 && errno != EINTR) fail_stream();
    if (ready <= 0) continue;
    ssize_t written = ::write(stream_, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) fail_stream();
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

void require_replaceable(const std::filesystem::path& path, ReplaceableFile kind) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;  // the writer reports it
  std::ifstream file(path, std::ios::binary);
  std::string_view expected = beginning(kind);
  std::string found(expected.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<size_t>(file.gcount()));
  if (!file.is_open() || found.empty() || found == expected) return;
  fail(Category::config,
       "{}: is there already, and is no file that this command wrote; name another file, or move "
       "that one away",
       path.string());
}

}  // namespace spire
