#include "engine/observe/tensorboard/event_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/base/system_limits.h"
#include "engine/process/socket.h"

namespace spire {
namespace {

constexpr std::string_view prefix = "events.out.tfevents.";
constexpr int64_t last_time = 9'999'999'999;  // in the year 2286; names have ten digits for it

// Returns the Unix time in the name of an event file; 0 for other files.
int64_t time_in(std::string_view name) {
  int64_t seconds = 0;
  if (name.starts_with(prefix))
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), seconds);
  return seconds;
}

std::string process_suffix() {
  return fmt::format(".{}.{}", host_name(), ::getpid());
}

std::string new_name(const std::filesystem::path& folder, EventFile::Time now) {
  int64_t seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  for (const auto& name : list_folder(folder, Category::config)) {
    int64_t time = time_in(name.string());
    if (time < last_time) seconds = std::max(seconds, time + 1);
  }
  return fmt::format("{}{:010}{}", prefix, seconds, process_suffix());
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, Time now)
    : path_(folder / new_name(folder, now)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0)
    fail(category_of(errno, Category::config), "cannot create {}: {}", path_.string(),
         system_reason(errno));
}

EventFile::~EventFile() {
  ::close(descriptor_);
}

std::string EventFile::append(std::string_view frames) {
  if (!is_named(descriptor_, path_)) return "it was removed or replaced";
  ssize_t written = ::write(descriptor_, frames.data(), frames.size());
  if (written == std::ssize(frames)) {
    bytes_ += written;
    return "";
  }
  std::string reason = written < 0 ? system_reason(errno) : "the disk is full";
  if (::ftruncate(descriptor_, bytes_) != 0) reason += "; its last frame is torn";
  return reason;
}

std::set<std::string> event_files_of_this_process(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& name : list_folder(folder, Category::config))
    if (time_in(name.string()) > 0 && name.string().ends_with(process_suffix()))
      names.insert(name.string());
  return names;
}

}  // namespace spire
