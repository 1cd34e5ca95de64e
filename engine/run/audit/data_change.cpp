#include "engine/run/audit/data_change.h"

#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/digest.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"

namespace spire {
namespace {

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
