#include "engine/observe/metrics_records.h"

#include <limits>
#include <sstream>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline observe {
namespace {

using Json = nlohmann::json;

std::optional<double> number(const Json& line, const char* key) {
  auto found = line.find(key);
  if (found == line.end()) return {};
  return found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::map<int64_t, StepRecord> read_step_records(const std::filesystem::path& path) {
  auto text = read_file_if_there(path, Category::config);
  if (!text)
    fail(Category::config, "{}: there is no such file; name the directory of a run", path.string());
  std::map<int64_t, StepRecord> records;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    Json record = Json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("train/loss") || !record.contains("step")) continue;
    StepRecord& step = records[record["step"].get<int64_t>()];
    step.loss = number(record, "train/loss");
    step.grad_norm = number(record, "train/grad_norm");
    step.parameter_hash = record.value("train/parameter_hash", "");
  }
  if (records.empty()) fail(Category::config, "{}: holds no step of a run", path.string());
  return records;
}

}  // namespace spire::inline observe
