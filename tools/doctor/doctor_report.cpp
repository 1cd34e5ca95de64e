#include "tools/doctor/doctor_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"

namespace spire {

std::string findings_text(const Findings& findings) {
  TextTable table;
  int64_t count[3] = {};
  for (const Finding& finding : findings) {
    ++count[static_cast<size_t>(finding.level)];
    std::string level =
        finding.level == FindingLevel::ok ? "OK" : std::string(to_string(finding.level));
    table.push_back({level, finding.topic, finding.seen});
    if (!finding.remedy.empty()) table.push_back({"", "", "-> " + finding.remedy});
  }
  std::string text;
  for (const std::string& line : aligned(table)) text += line + "\n";
  return text + fmt::format("\n{}: {} OK, {}, {}\n", counted(std::ssize(findings), "finding"),
                            count[0], counted(count[1], "warning"), counted(count[2], "failure"));
}

std::string findings_json(const Findings& findings, const DoctorFacts& facts) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json values = Json::object();
    for (const auto& [name, value] : finding.values)
      values[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
    list.push_back({{"topic", finding.topic},
                    {"level", to_string(finding.level)},
                    {"seen", finding.seen},
                    {"remedy", finding.remedy},
                    {"values", values}});
  }
  Json report = {{"format", 1},
                 {"spire", facts.version},
                 {"host", facts.host},
                 {"time", facts.time},
                 {"level", to_string(worst(findings))},
                 {"findings", list}};
  // Names of processes and devices may hold any bytes.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace spire
