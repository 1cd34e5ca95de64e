#include "engine/observe/metrics_lines.h"

#include <limits>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "engine/observe/file_lines.h"

namespace spire {
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

void take_line(std::string_view text, std::vector<MetricsLine>& lines) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return;
  auto kind = kind_of(json);
  auto step = json.find("step");
  if (!kind || step == json.end() || !step->is_number_integer()) return;
  MetricsLine& line = lines.emplace_back(MetricsLine{*kind, step->get<int64_t>()});
  for (const auto& [key, value] : json.items()) {
    if (is_measured(key) || (!value.is_number() && !value.is_null())) continue;
    line.numbers.emplace_back(
        key, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  line.parameter_hash = word(json, "train/parameter_hash");
  line.chain = word(json, "train/chain");
}

}  // namespace

std::vector<MetricsLine> read_metrics_lines(const std::filesystem::path& path) {
  std::vector<MetricsLine> lines;
  auto file = RegularFile::if_there(path, Category::config);
  if (!file) return lines;
  for_each_line(
      *file, [&](std::string_view line) { take_line(line, lines); }, [](std::string_view) {});
  return lines;
}

}  // namespace spire
