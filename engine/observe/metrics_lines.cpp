#include "engine/observe/metrics_lines.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/observe/line_file.h"

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
