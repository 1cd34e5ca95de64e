// Small runs on a made-up table, by the library, with what they report.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <stdlib.h>

#include <spire/load_config.h>
#include <spire/train.h>

#include "engine/observe/json_files.h"
#include "tests/tools/words.h"

namespace spire {

// Keeps steps and warnings, and writes metrics.jsonl, audit.jsonl and
// summary.json.
class Reports : public Observer {
 public:
  void on_start(const StartInfo& start) override {
    file_.emplace(std::filesystem::path(start.output) / "metrics.jsonl", [](std::string_view) {});
    file_->on_start(start);
    audit_.emplace(std::filesystem::path(start.output) / "audit.jsonl", [](std::string_view) {});
    audit_->on_start(start);
  }
  void on_step(const StepReport& step) override {
    steps.push_back(step);
    file_->on_step(step);
    audit_->on_step(step);
  }
  void on_eval(const EvalReport& eval) override { file_->on_eval(eval); }
  void on_test(const EvalReport& eval) override { file_->on_test(eval); }
  void on_end(const RunSummary& summary) override {
    if (summary.output.empty()) return;
    std::filesystem::path path = std::filesystem::path(summary.output) / "summary.json";
    SummaryFile(path, [](std::string_view) {}).on_end(summary);
  }
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }

  std::vector<StepReport> steps;
  std::vector<std::string> warnings;

 private:
  std::optional<MetricsFile> file_;
  std::optional<AuditFile> audit_;
};

// A folder with a table of 60 rows, of which one has a target far from all others; 3 towers of 2
// samples, so 10 steps an epoch. The seed puts that row into step `spike` of the first epoch.
class MadeRuns {
 public:
  static constexpr int64_t outlier = 17;

  MadeRuns() {
    std::string pattern = std::filesystem::temp_directory_path() / "spire_made_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ / "table");
    for (const char* name : {"train.csv", "test.csv"}) {
      std::ofstream file(folder_ / "table" / name);
      file << "a,b,c,y\n";
      for (int64_t row = 0; row < 60; ++row) {
        double a = static_cast<double>(row * 7 % 13), b = static_cast<double>(row * 5 % 11);
        bool far = row == outlier && std::string(name) == "train.csv";
        file << fmt::format("{},{},{},{:.3f}\n", a, b, row % 3,
                            far ? 1e20 : 0.1 * a - 0.2 * b + 0.01);
      }
    }
  }
  ~MadeRuns() { std::filesystem::remove_all(folder_); }
  MadeRuns(const MadeRuns&) = delete;
  MadeRuns& operator=(const MadeRuns&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

  Words words(const std::string& name, const Words& more) const {
    return Words{"data.name=csv",          "data.path=" + (folder_ / "table").string(),
                 "data.csv.target=y",      "data.csv.task=value",
                 "model.name=mlp",         "model.hidden=[16]",
                 "batch_size=2",           "towers=3",
                 "tower_threads=1",        "devices=1xcpu",
                 "optimizer.lr=0.001",     "log.every_steps=1",
                 "log.hash_every_steps=1", "steps=24",
                 "eval.every_epochs=0",    "output=" + (folder_ / name).string()} +
           more;
  }
  RunResult train(const std::string& name, const Words& more, Reports& reports,
                  RunOptions options = {}) const {
    options.overwrite = !options.resume;
    return spire::train(parse_config({}, words(name, more)).config, options, reports);
  }
  RunResult resume(const std::string& name, const Words& more) const {
    Reports reports;
    RunOptions options;
    options.resume = "auto";
    return train(name, more, reports, options);
  }
  RunResult train(const std::string& name, const Words& more) const {
    Reports reports;
    return train(name, more, reports);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace spire
