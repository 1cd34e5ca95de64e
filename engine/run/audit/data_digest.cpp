#include "engine/run/audit/data_digest.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/digest.h"
#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/sample.h"

namespace spire {
namespace {

constexpr size_t most_opened = 1000;                    // files of a part
constexpr uint64_t largest_whole = uint64_t{64} << 20;  // bytes
constexpr uint64_t most_read = uint64_t{512} << 20;
constexpr uint64_t digest_piece = uint64_t{1} << 20;

// Reads the file's content, or its ends, and counts the bytes in `read`.
std::string file_text(const std::filesystem::path& path, uint64_t& read) {
  RegularFile file(path, Category::data);
  uint64_t bytes = file.bytes();
  bool whole = bytes <= largest_whole && read + bytes <= most_read;
  std::vector<std::byte> buffer(std::min(digest_piece, bytes));
  Hash64 hash;
  auto add = [&](uint64_t offset) {
    hash.add(buffer.data(), file.read_at(offset, buffer));
    read += buffer.size();
  };
  if (whole)
    for (uint64_t at = 0; at < bytes; at += digest_piece) add(at);
  else
    for (uint64_t at : {uint64_t{0}, bytes - buffer.size()}) add(at);
  return fmt::format("{} {}\n", bytes, hex(hash.value()));
}

std::string files_text(const std::vector<std::filesystem::path>& files) {
  std::string text;
  uint64_t read = 0;
  for (const std::filesystem::path& path : files) {
    text += path.filename().string() + "\n";
    if (files.size() <= most_opened) text += file_text(path, read);
  }
  return text;
}

std::string checksums_text(const Dataset& part) {
  std::string text;
  auto checksums = part.checksums();
  if (!checksums) return text;
  for (const auto& column : checksums->blocks)
    for (uint64_t block : column) text += hex(block);
  return text;
}

std::string part_text(const Dataset& part, const std::string& files) {
  return fmt::format("{}\n{}\n{}\n{}\n", part.count(), to_text(part.spec()), checksums_text(part),
                     files);
}

std::string part_text(const Dataset& part) {
  return part_text(part, files_text(part.files()));
}

// Samples that are held out of the training data have its files, which are read once.
std::string validation_text(const DatasetPair& data) {
  bool same = data.val->files() == data.train->files();
  return part_text(*data.val, same ? "" : files_text(data.val->files()));
}

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The root of that digest, among the lines of the run's audit.jsonl.
std::optional<Json> recorded_root(const fs::path& checkpoint, const std::string& wanted) {
  fs::path file = checkpoint.parent_path().parent_path() / "audit.jsonl";
  std::string text = read_file_if_there(file, Category::config, any_size).value_or("");
  for (size_t at = 0, end = 0; end != text.npos; at = end + 1) {
    end = text.find('\n', at);
    std::string_view line = std::string_view(text).substr(at, end == text.npos ? end : end - at);
    if (line.find("\"root\":{") == line.npos) continue;
    Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("root") && digest({json["root"].dump()}) == wanted)
      return json["root"];
  }
  return {};
}

std::vector<std::string> changed_files(const DatasetPair& data, const fs::path& checkpoint) {
  std::set<std::string> names;
  std::error_code error;
  auto saved = fs::last_write_time(checkpoint, error);
  if (error) return {};
  for (const Dataset* part : {data.train.get(), data.test.get(), data.val.get()}) {
    if (part == nullptr) continue;
    for (const fs::path& path : part->files())
      if (auto written = fs::last_write_time(path, error); !error && written > saved)
        names.insert(path.string());
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::string data_digest(const DatasetPair& data) {
  std::string train = part_text(*data.train), test = part_text(*data.test);
  if (!data.val) return digest({train, test});
  return digest({train, test, validation_text(data)});
}

std::string changed_data(const RunSetup& setup, const std::string& old_digest,
                         const std::string& root) {
  const fs::path& checkpoint = setup.resumed->path;
  std::optional<Json> before = recorded_root(checkpoint, old_digest);
  Json now = Json::parse(root, nullptr, false);
  if (!before || before->value("data", Json()) == now.value("data", Json())) return "";
  std::vector<std::string> files = changed_files(setup.data, checkpoint);
  return fmt::format(
      "the data (data.name {}, data.path {}) is not what it was at the checkpoint of step {}{}; "
      "the run goes on with it, and its further steps are not those of a run that never stopped",
      setup.config.data.name, setup.config.data.path, setup.resumed->state.step,
      files.empty() ? "" : fmt::format(": changed since then: {}", quoted_list(files)));
}

}  // namespace spire
