#include "engine/run/audit/audit_root.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/sample.h"
#include "engine/run/audit/bit_keys.h"
#include "kernels/cpu/onednn_version.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool on_cpus(const RunSetup& setup) {
  return setup.placement.devices[0].id.kind == DeviceKind::cpu;
}

Json config_of(const RunSetup& setup) {
  BitKeys keys(setup.config, bit_context(setup));
  Json json = Json::object();
  for (const Field& field : schema()) {
    if (!keys.decide(field)) continue;
    if (field.path == "tower_threads" && !on_cpus(setup)) continue;
    json[field.path] = keys.value(field);
  }
  return json;
}

Json versions_of(const RunSetup& setup) {
  Json versions = {{"Spire", SPIRE_BUILD}};
  if (on_cpus(setup)) versions["oneDNN"] = onednn_version();
  for (const auto& [library, version] : setup.versions) versions[library] = version;
  return versions;
}

void compare(const std::string& path, const Json& a, const Json& b,
             std::vector<std::string>& differences) {
  if (a == b) return;
  if (!a.is_object() || !b.is_object()) {
    differences.push_back(fmt::format("{}: {} and {}", path, a.dump(), b.dump()));
    return;
  }
  std::set<std::string> keys;
  for (const Json* side : {&a, &b})
    for (const auto& [key, value] : side->items()) keys.insert(key);
  for (const std::string& key : keys)
    compare(path.empty() ? key : path + " " + key, a.value(key, Json()), b.value(key, Json()),
            differences);
}

constexpr size_t most_opened = 1000;                    // files of a part
constexpr uint64_t largest_whole = uint64_t{64} << 20;  // bytes
constexpr uint64_t most_read = uint64_t{512} << 20;
constexpr uint64_t digest_piece = uint64_t{1} << 20;

// Reads the file's content, or its ends, and counts the bytes in `read`.
std::string file_text(const fs::path& path, uint64_t& read) {
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

std::string files_text(const std::vector<fs::path>& files) {
  std::string text;
  uint64_t read = 0;
  for (const fs::path& path : files) {
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

// Covers of training, test and validation data, if there is any: number of samples, columns and
// classes, the row checksums that its files contain, and each file's name. Of up to 1000 files also
// the size, and the content: all of files of up to 64 MiB as long as they are 512 MiB together, of
// others the first and last MiB. Folders do not count, so that data may lie elsewhere.
std::string data_digest(const DatasetPair& data) {
  std::string train = part_text(*data.train), test = part_text(*data.test);
  if (!data.val) return digest({train, test});
  return digest({train, test, validation_text(data)});
}

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

int64_t weights_interval(const AuditConfig& config, int64_t parameters) {
  constexpr int64_t parameters_a_step = 10'000, least = 500, most = 1000;
  if (config.weights_every_steps > 0) return config.weights_every_steps;
  return std::clamp(parameters / parameters_a_step, least, most);
}

std::string root_text(const RunSetup& setup, int64_t weights_every) {
  std::string tuning = recorded_text(setup.tuning.get());
  Json root = {{"device", on_cpus(setup) ? "cpu" : "cuda"},
               {"data", data_digest(setup.data)},
               {"spec", digest({to_text(setup.data.test->spec())})},
               {"config", config_of(setup)},
               {"versions", versions_of(setup)},
               {"engines", hex(hash64(tuning.data(), tuning.size()))},
               {"weights_every_steps", weights_every}};
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RootCheck check_root(const std::string& recorded, const RunSetup& setup, int64_t weights_every) {
  Json here = Json::parse(root_text(setup, weights_every));
  Json there = Json::parse(recorded, nullptr, false);
  Json kept = Json::object();
  for (const auto& [key, value] : there["config"].items())
    if (here["config"].contains(key) || !find_field(key)) kept[key] = value;
  there["config"] = kept;
  if (!there.contains("spec")) here.erase("spec");  // of a version that did not record it
  RootCheck check;
  compare("", there, here, check.differences);
  check.other_run = std::ranges::any_of(check.differences, [](const std::string& text) {
    return text.starts_with("config ") || text.starts_with("data:") || text.starts_with("spec:");
  });
  return check;
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
