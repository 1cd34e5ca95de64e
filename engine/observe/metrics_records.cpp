#include "engine/observe/metrics_records.h"

#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/observe/file_lines.h"

namespace spire {
namespace {

// Returns none where the line lacks the number, NaN where it was not finite.
std::optional<double> number(const nlohmann::json& line, const char* key) {
  auto found = line.find(key);
  if (found == line.end()) return {};
  if (found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!found->is_number()) return {};
  return found->get<double>();
}

std::string word(const nlohmann::json& line, const char* key) {
  auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

void take_line(std::string_view line, std::map<int64_t, StepRecord>& records) {
  nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
  if (!record.is_object() || !record.contains("train/loss")) return;
  auto step = record.find("step");
  if (step == record.end() || !step->is_number_integer()) return;
  records[step->get<int64_t>()] = {number(record, "train/loss"), number(record, "train/grad_norm"),
                                   word(record, "train/parameter_hash"),
                                   word(record, "train/chain")};
}

}  // namespace

std::map<int64_t, StepRecord> read_step_records(const std::filesystem::path& path) {
  auto file = RegularFile::if_there(path, Category::config);
  if (!file)
    fail(Category::config, "{}: there is no such file; name the directory of a run", path.string());
  std::map<int64_t, StepRecord> records;
  auto take = [&](std::string_view line) { take_line(line, records); };
  for_each_line(*file, take, take);
  return records;
}

}  // namespace spire
