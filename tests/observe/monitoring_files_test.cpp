// The dashboard, the alert rules and the page of docs name only metrics that a run emits.
#include <cstdlib>
#include <functional>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "engine/observe/published_state.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using testing::IsSupersetOf;
using testing::SizeIs;

const std::filesystem::path root = SPIRE_ROOT, folder = root / "configs/monitoring";

// All that a run can emit.
std::string full_page() {
  LatestState latest;
  report_run(latest, gpu_reports());
  return prometheus_text(latest.state(), 1e9);
}

std::set<std::string> metrics_in(const std::string& text) {
  static const std::regex metric(R"(\b(spire_[a-z_]+|DCGM_[A-Z_]+)\b)");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), metric), end; it != end; ++it)
    names.insert(it->str());
  return names;
}

std::set<std::string> emitted() {
  return metrics_in(full_page());
}

// The queries of the dashboard: values of "expr", and of the variables' "query".
std::string queries(const nlohmann::json& node) {
  std::string text;
  if (node.is_object() || node.is_array())
    for (const auto& [key, value] : node.items())
      text += value.is_string() && (key == "expr" || key == "query")
                  ? value.get<std::string>() + "\n"
                  : queries(value);
  return text;
}

TEST(MonitoringFiles, TheDashboardReadsOnlyMetricsOfARun) {
  auto dashboard = nlohmann::json::parse(content_of(folder / "grafana_dashboard.json"));
  std::set<std::string> read = metrics_in(queries(dashboard));
  EXPECT_THAT(emitted(), IsSupersetOf(read));
  EXPECT_GT(read.size(), 25u);
  std::set<int> ids;
  for (const auto& panel : dashboard["panels"]) ids.insert(panel["id"].get<int>());
  EXPECT_THAT(ids, SizeIs(dashboard["panels"].size()));
}

TEST(MonitoringFiles, TheAlertsReadOnlyMetricsOfARun) {
  std::set<std::string> read;
  for (const auto& group : YAML::LoadFile((folder / "spire_alerts.yml").string())["groups"]) {
    for (const auto& rule : group["rules"]) {
      read.merge(metrics_in(rule["expr"].as<std::string>()));
      EXPECT_TRUE(rule["annotations"]["summary"] && rule["annotations"]["description"])
          << rule["alert"];
    }
  }
  EXPECT_THAT(emitted(), IsSupersetOf(read));
  EXPECT_GT(read.size(), 12u);
}

TEST(MonitoringFiles, TheDocsNameEveryMetricAndNoOther) {
  std::set<std::string> documented = metrics_in(content_of(root / "docs/monitoring.md"));
  std::erase_if(documented, [](const std::string& name) { return name == "spire_alerts"; });
  EXPECT_EQ(documented, emitted());
}

// promtool of Prometheus, or "" where there is none.
std::string promtool() {
  const char* given = std::getenv("PROMTOOL");
  std::string program = given ? given : "promtool";
  return std::system((program + " --version >/dev/null 2>&1").c_str()) == 0 ? program : "";
}

class Promtool : public testing::Test {
 protected:
  void SetUp() override {
    if (program_.empty()) GTEST_SKIP() << "no promtool here; Debian's package prometheus has it";
  }

  // Runs it, with its output in the test's, and returns its exit status.
  int run(const std::string& words) { return std::system((program_ + " " + words).c_str()); }

  std::string program_ = promtool();
  Folder scratch_;
};

TEST_F(Promtool, AcceptsTheMetricsOfARun) {
  std::filesystem::path page = scratch_ / "page";
  std::ofstream(page) << full_page();
  EXPECT_EQ(run("check metrics < " + page.string()), 0);
}

TEST_F(Promtool, AcceptsRulesAndConfig) {
  EXPECT_EQ(run("check rules " + (folder / "spire_alerts.yml").string()), 0);
  EXPECT_EQ(run("check config " + (folder / "prometheus.yml").string()), 0);
}

TEST_F(Promtool, AlertsFireWhenTheyShould) {
  EXPECT_EQ(run("test rules " + (root / "tests/observe/alert_cases.yml").string()), 0);
}

}  // namespace
}  // namespace spire
