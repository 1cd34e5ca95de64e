#include "tools/audit/audit_log.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/observe/json_lines.h"
#include "engine/run/audit/audit_record.h"

namespace spire {
namespace {

using Json = nlohmann::ordered_json;

std::optional<int64_t> integer_in(const Json& json, const char* key) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return {};
  return found->get<int64_t>();
}

// Whether a replay can read the root: its config are words, and its device is one.
bool is_root(const Json& root) {
  if (!root.is_object() || !root.contains("config") || !root["config"].is_object()) return false;
  for (const Json& value : root["config"])
    if (!value.is_string()) return false;
  return root.contains("device") && root["device"].is_string();
}

class LogReader {
 public:
  AuditLog log;

  void take(std::string_view line) {
    ++number_;
    auto parts = split_chained(line);
    if (!parts && number_ == 1 && takes_beginning(line)) return;
    Json json = parts ? Json::parse(parts->text, nullptr, false) : Json();
    if (json.is_object() && json.contains("root")) {
      take_root(json, *parts);
    } else if (auto record = parts ? parse_audit_record(parts->text) : std::nullopt) {
      take_record(*record, *parts);
    } else {
      problem(fmt::format("line {} is not a record of a step", number_));
      ++log.last;
      broken_ = true;
    }
  }

 private:
  void problem(std::string text) { log.problems.push_back(std::move(text)); }

  // {"step":4,"continues":"..."} of a run that was resumed in another directory.
  bool takes_beginning(std::string_view line) {
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("continues") || !json["continues"].is_string())
      return false;
    auto step = integer_in(json, "step");
    if (!step) return false;
    log.first = log.last = *step;
    log.values[log.first] = value_ = text_in(json, "continues");
    return true;
  }

  void take_root(const Json& json, const ChainedLine& line) {
    int64_t step = integer_in(json, "step").value_or(-1);
    if (number_ == 1) log.first = log.last = step;
    if (step != log.last)
      problem(
          fmt::format("line {}: a root of step {} stands behind step {}", number_, step, log.last));
    if (is_root(json["root"]))
      add_root(step, json, line);
    else
      problem(fmt::format("line {}: the root of step {} lacks its config or its device", number_,
                          step));
    follow(line, fmt::format("the root at step {}", step));
    log.values.try_emplace(step, value_);
  }

  void add_root(int64_t step, const Json& json, const ChainedLine& line) {
    const Json& text = json["root"];
    log.roots[step] = {
        .text = text.dump(),
        .weights = parse_hashes(text_in(json, "weights")).value_or(std::vector<uint64_t>()),
        .value = line.value,
        .spec = text_in(text, "spec"),
        .weights_every = integer_in(text, "weights_every_steps").value_or(0)};
  }

  void take_record(const AuditRecord& record, const ChainedLine& line) {
    int64_t expected = log.last + 1;
    if (number_ == 1)
      problem(fmt::format("the root is missing: the file begins at step {}", record.step));
    else if (record.step > expected)
      problem(record.step == expected + 1
                  ? fmt::format("step {} is missing", expected)
                  : fmt::format("steps {} to {} are missing", expected, record.step - 1));
    else if (record.step < expected)
      problem(
          fmt::format("line {}: step {} stands behind step {}", number_, record.step, log.last));
    broken_ = broken_ || record.step != expected || number_ == 1;
    follow(line, fmt::format("step {}", record.step));
    log.last = record.step;
    log.records[record.step] = record;
    log.values[record.step] = value_;
  }

  // Behind a gap the value before is not known, and one line passes unchecked.
  void follow(const ChainedLine& line, const std::string& what) {
    bool good = broken_ || next_value(value_, line.text) == line.value;
    if (!good)
      problem(fmt::format("{}: its line was changed: it does not give its chain value {}", what,
                          line.value));
    broken_ = false;
    value_ = line.value;
  }

  int64_t number_ = 0;  // of the line
  std::string value_;
  bool broken_ = false;
};

}  // namespace

std::string text_in(const Json& json, const char* key) {
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string device_of(const RecordedRoot& root) {
  return Json::parse(root.text)["device"].get<std::string>();
}

std::string data_of(const RecordedRoot& root) {
  return text_in(Json::parse(root.text), "data");
}

std::map<std::string, std::string> config_of(const RecordedRoot& root) {
  return Json::parse(root.text)["config"].get<std::map<std::string, std::string>>();
}

const RecordedRoot* AuditLog::root_after(int64_t step) const {
  auto after = roots.upper_bound(step);
  return after == roots.begin() ? nullptr : &std::prev(after)->second;
}

int64_t AuditLog::end_of_root(int64_t step) const {
  auto after = roots.upper_bound(step);
  return after == roots.end() ? last : after->first;
}

AuditLog read_audit_log(const std::filesystem::path& path) {
  auto file = RegularFile::if_there(path, Category::config);
  if (!file)
    fail(Category::config,
         "{}: there is no such file: the run kept no chain; train with audit.chain: true",
         path.string());
  LogReader reader;
  for_each_line(
      *file, [&](std::string_view line) { reader.take(line); }, [](std::string_view) {});
  if (reader.log.roots.empty() && reader.log.records.empty())
    reader.log.problems.push_back("it holds no step");
  return std::move(reader.log);
}

}  // namespace spire
