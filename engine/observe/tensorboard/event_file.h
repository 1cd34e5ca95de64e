// A file of frames, events.out.tfevents.*, that grows by whole frames.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace spire {

// One thread at a time.
class EventFile {
 public:
  using Time = std::chrono::system_clock::time_point;

  // Makes a new file, whose name sorts behind all event files in the folder whose times have ten
  // digits and can be followed: readers take them in the order of names. Throws Error(config).
  EventFile(const std::filesystem::path& folder, Time now);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Appends frames. Returns why it could not, or "": then none of them is in the file.
  std::string append(std::string_view frames);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
  int64_t bytes_ = 0;  // of whole frames
};

// Returns the names of a folder's event files that a process of this host and number has made.
// Throws Error(config) if it cannot be listed.
std::set<std::string> event_files_of_this_process(const std::filesystem::path& folder);

}  // namespace spire
