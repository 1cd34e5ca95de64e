#include "engine/observe/json_lines.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/base/text.h"

namespace spire {
namespace {

constexpr size_t piece_bytes = size_t{1} << 20;
constexpr size_t longest_line = size_t{1} << 20;

}  // namespace

LineFile::LineFile(std::filesystem::path path, Warn warn)
    : path_(std::move(path)), warn_(std::move(warn)) {}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// The old descriptor is closed last: it stays open if this throws.
void LineFile::open(std::string_view kept, Existing existing) {
  write_file_atomically(path_, kept, Category::config, existing);
  int file = open_in_place(path_, Category::config);
  ::fcntl(file, F_SETFL, O_APPEND);
  int before = std::exchange(descriptor_, file);
  if (before >= 0) ::close(before);
  bytes_ = static_cast<int64_t>(kept.size());
}

void LineFile::append(std::string_view lines) {
  if (descriptor_ < 0 || lines.empty()) return;
  // A file that was removed or moved would take the line without an error, and nobody would see it.
  if (!is_named(descriptor_, path_) && !put_back()) return;
  // One write() with O_APPEND: a reader of the file never sees half a line.
  ssize_t written = ::write(descriptor_, lines.data(), lines.size());
  if (written != static_cast<ssize_t>(lines.size())) {
    failed(written < 0 ? system_reason(errno) : "the disk is full");
    return;
  }
  bytes_ += written;
  // After failures, the first line that is written again tells how many are missing.
  int64_t missing = std::exchange(missing_, 0);
  lost_ += missing;
  if (missing > 0)
    warn_(
        fmt::format("{} is written again; it lacks {}", path_.string(), counted(missing, "line")));
}

// Restores a removed file from the descriptor, which still reads its content.
bool LineFile::put_back() {
  try {
    if (is_there(path_)) fail(Category::unexpected, "another file has its name now");
    std::string kept(static_cast<size_t>(bytes_), '\0');
    ssize_t got = ::pread(descriptor_, kept.data(), kept.size(), 0);
    if (got != std::ssize(kept)) fail(Category::unexpected, "its lines cannot be read");
    open(kept, Existing::keep);
    warn_(
        fmt::format("{} was removed or replaced during the run; it is written anew, with all its "
                    "lines",
                    path_.string()));
    return true;
  } catch (const std::exception& error) {
    if (missing_++ == 0)
      warn_(fmt::format("{} was removed or replaced during the run: {}; training goes on",
                        path_.string(), error.what()));
    return false;
  }
}

std::string LineFile::lost() const {
  int64_t lines = lost_ + missing_;
  return lines == 0 ? "" : fmt::format("{} lacks {}", path_.string(), counted(lines, "line"));
}

// Cuts off what was written of a line. Warns of the first failure in a row only.
void LineFile::failed(std::string_view what) {
  bool whole = ::ftruncate(descriptor_, bytes_) == 0;
  if (missing_++ == 0)
    warn_(fmt::format("cannot write {}: {}{}; training continues", path_.string(), what,
                      whole ? "" : " (its last line is torn)"));
}

void for_each_line(const RegularFile& file, const std::function<void(std::string_view)>& take,
                   const std::function<void(std::string_view)>& torn) {
  std::vector<std::byte> piece(piece_bytes);
  std::string rest;
  while (size_t got = file.read(piece)) {
    std::string_view text(reinterpret_cast<const char*>(piece.data()), got);
    for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      rest.append(text.substr(0, end));
      if (!rest.empty()) take(rest);
      rest.clear();
    }
    rest.append(text.substr(0, longest_line - std::min(longest_line, rest.size())));
  }
  if (!rest.empty()) torn(rest);
}

namespace {

using Json = nlohmann::ordered_json;

std::optional<MetricsLine::Kind> kind_of(const Json& line) {
  using Kind = MetricsLine::Kind;
  if (line.contains("train/loss")) return Kind::train;
  if (line.contains("val/loss")) return Kind::val;
  if (line.contains("test/loss")) return Kind::test;
  return {};
}

bool is_measured(std::string_view key) {
  return key.starts_with("perf/") || key.starts_with("time/") || key == "step";
}

std::string word(const Json& line, const char* key) {
  auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

// None for a line of another kind, or that is no whole record.
std::optional<MetricsLine> parse_line(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  auto kind = kind_of(json);
  auto step = json.find("step");
  if (!kind || step == json.end() || !step->is_number_integer()) return {};
  MetricsLine line{*kind, step->get<int64_t>()};
  for (const auto& [key, value] : json.items()) {
    if (is_measured(key) || (!value.is_number() && !value.is_null())) continue;
    line.numbers.emplace_back(
        key, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  line.parameter_hash = word(json, "train/parameter_hash");
  line.chain = word(json, "train/chain");
  return line;
}

}  // namespace

std::optional<double> MetricsLine::number(std::string_view tag) const {
  auto found = std::ranges::find(numbers, tag, &std::pair<std::string, double>::first);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::vector<MetricsLine> read_metrics_lines(const std::filesystem::path& path) {
  std::vector<MetricsLine> lines;
  auto take = [&](std::string_view text) {
    if (auto line = parse_line(text)) lines.push_back(std::move(*line));
  };
  if (auto file = RegularFile::if_there(path, Category::config))
    for_each_line(*file, take, [](std::string_view) {});
  return lines;
}

std::map<int64_t, StepRecord> read_step_records(const std::filesystem::path& path) {
  auto file = RegularFile::if_there(path, Category::config);
  if (!file)
    fail(Category::config, "{}: there is no such file; name the directory of a run", path.string());
  std::map<int64_t, StepRecord> records;
  auto take = [&](std::string_view text) {
    auto line = parse_line(text);
    if (line && line->kind == MetricsLine::Kind::train)
      records[line->step] = {line->number("train/loss"), line->number("train/grad_norm"),
                             line->parameter_hash, line->chain};
  };
  for_each_line(*file, take, take);
  return records;
}

}  // namespace spire
