// Files of events as TensorBoard reads them, events.out.tfevents.*: messages of protocol buffers,
// each in a frame of a TFRecord file, which grows by whole frames. Functions of events return such
// frames. (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto,
// https://www.tensorflow.org/tutorials/load_data/tfrecord)
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spire {

// One thread at a time.
class EventFile {
 public:
  using Time = std::chrono::system_clock::time_point;

  // Makes a new file. Readers take event files in the order of their names, so its name sorts after
  // those of all others in the folder (whose times have ten digits). Throws Error(config).
  EventFile(const std::filesystem::path& folder, Time now);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Appends frames. Returns "", or why it could not: then none of these frames is in the file.
  std::string append(std::string_view frames);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
  int64_t bytes_ = 0;  // of whole frames
};

// Returns the names of the event files in a folder that end in this host's name and this process's
// id. Throws Error(config) if the folder cannot be listed.
std::set<std::string> event_files_of_this_process(const std::filesystem::path& folder);

// RFC 3720, appendix B.4; polynomial 0x1EDC6F41. No library of Debian 12 has it alone.
uint32_t crc32c(std::string_view bytes);

// Returns crc32c() rotated, plus a constant: data that contains checksums still gets a good
// checksum. (tensorflow/core/lib/hash/crc32c.h)
uint32_t masked_crc32c(std::string_view bytes);

// Length and data, each with its masked CRC-32C; numbers are little-endian.
std::string tfrecord(std::string_view data);

// seconds: Unix time.
std::string first_event(double seconds);  // the first of each file: version 2 of the format

// Marks the start of a process whose first step is `step`. At each such event but the first, a
// reader drops what it has read of `step` and later steps.
std::string session_event(double seconds, int64_t step);

using Scalars = std::vector<std::pair<std::string, double>>;  // tag, value; kept as floats
std::string scalar_event(double seconds, int64_t step, const Scalars& scalars);

// A text in Markdown.
std::string text_event(double seconds, int64_t step, std::string_view tag, std::string_view text);

}  // namespace spire
