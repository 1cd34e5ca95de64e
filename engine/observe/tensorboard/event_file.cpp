#include "engine/observe/tensorboard/event_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <concepts>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <protozero/pbf_builder.hpp>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/system.h"
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

namespace {

constexpr uint32_t reversed_polynomial = 0x82f63b78;

constexpr std::array<uint32_t, 256> remainders = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? reversed_polynomial : 0);
    table[byte] = rest;
  }
  return table;
}();

// Numbers of the fields, as the .proto files have them.
enum class EventField : uint32_t {
  wall_time = 1,
  step = 2,
  file_version = 3,
  summary = 5,
  session_log = 7,
};
enum class SessionLogField : uint32_t { status = 1 };
enum class SummaryField : uint32_t { value = 1 };
enum class ValueField : uint32_t { tag = 1, simple_value = 2, tensor = 8, metadata = 9 };
enum class MetadataField : uint32_t { plugin_data = 1 };
enum class PluginField : uint32_t { plugin_name = 1 };
enum class TensorField : uint32_t { dtype = 1, tensor_shape = 2, string_val = 8 };
enum class ShapeField : uint32_t { dim = 2 };
enum class DimField : uint32_t { size = 1 };

constexpr int32_t session_start = 1, dt_string = 7;

template <typename Field>
using Message = protozero::pbf_builder<Field>;

template <std::unsigned_integral Number>
void append_number(std::string& bytes, Number number) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, sizeof number> raw;
  std::memcpy(raw.data(), &number, sizeof number);
  bytes.append(raw.data(), raw.size());
}

Message<EventField> begin_event(std::string& bytes, double seconds, int64_t step) {
  Message<EventField> event(bytes);
  event.add_double(EventField::wall_time, seconds);
  event.add_int64(EventField::step, step);
  return event;
}

void add_text(Message<SummaryField>& summary, std::string_view tag, std::string_view text) {
  Message<ValueField> value(summary, SummaryField::value);
  value.add_string(ValueField::tag, tag.data(), tag.size());
  {
    Message<TensorField> tensor(value, ValueField::tensor);
    tensor.add_enum(TensorField::dtype, dt_string);
    {
      Message<ShapeField> shape(tensor, TensorField::tensor_shape);
      Message<DimField>(shape, ShapeField::dim).add_int64(DimField::size, 1);
    }
    tensor.add_bytes(TensorField::string_val, text.data(), text.size());
  }
  Message<MetadataField> metadata(value, ValueField::metadata);
  Message<PluginField>(metadata, MetadataField::plugin_data)
      .add_string(PluginField::plugin_name, "text");
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (char c : bytes) crc = (crc >> 8) ^ remainders[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

uint32_t masked_crc32c(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string tfrecord(std::string_view data) {
  std::string frame;
  frame.reserve(data.size() + 16);
  append_number<uint64_t>(frame, data.size());
  append_number(frame, masked_crc32c(frame));
  frame += data;
  append_number(frame, masked_crc32c(data));
  return frame;
}

std::string first_event(double seconds) {
  std::string bytes;
  begin_event(bytes, seconds, 0).add_string(EventField::file_version, "brain.Event:2");
  return tfrecord(bytes);
}

std::string session_event(double seconds, int64_t step) {
  std::string bytes;
  auto event = begin_event(bytes, seconds, step);
  Message<SessionLogField>(event, EventField::session_log)
      .add_enum(SessionLogField::status, session_start);
  return tfrecord(bytes);
}

// A message is complete when its builder is destroyed.
std::string scalar_event(double seconds, int64_t step, const Scalars& scalars) {
  std::string bytes;
  {
    auto event = begin_event(bytes, seconds, step);
    Message<SummaryField> summary(event, EventField::summary);
    for (const auto& [tag, number] : scalars) {
      Message<ValueField> value(summary, SummaryField::value);
      value.add_string(ValueField::tag, tag);
      value.add_float(ValueField::simple_value, static_cast<float>(number));
    }
  }
  return tfrecord(bytes);
}

std::string text_event(double seconds, int64_t step, std::string_view tag, std::string_view text) {
  std::string bytes;
  {
    auto event = begin_event(bytes, seconds, step);
    Message<SummaryField> summary(event, EventField::summary);
    add_text(summary, tag, text);
  }
  return tfrecord(bytes);
}

}  // namespace spire
