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

#include <spire/load_config.h>
#include <spire/train.h>

#include "engine/observe/json_files.h"
#include "tests/base/folder.h"
#include "tests/run/recorder.h"

namespace spire {

// Also writes metrics.jsonl, audit.jsonl and summary.json.
class Reports : public Recorder {
 public:
  using Recorder::Recorder;
  void on_start(const StartInfo& start) override {
    Recorder::on_start(start);
    std::filesystem::path folder = start.output;
    auto silent = [](std::string_view) {};
    files_ = ObserverList();
    files_.add(std::make_unique<MetricsFile>(folder / "metrics.jsonl", silent));
    files_.add(std::make_unique<AuditFile>(folder / "audit.jsonl", silent));
    files_.add(std::make_unique<SummaryFile>(folder / "summary.json", silent));
    files_.on_start(start);
  }
  void on_step(const StepReport& step) override {
    Recorder::on_step(step);
    files_.on_step(step);
  }
  void on_eval(const EvalReport& eval) override {
    Recorder::on_eval(eval);
    files_.on_eval(eval);
  }
  void on_test(const EvalReport& eval) override {
    Recorder::on_test(eval);
    files_.on_test(eval);
  }
  void on_end(const RunSummary& summary) override { files_.on_end(summary); }

 private:
  ObserverList files_;
};

// A folder with a table of 60 rows, of which one has a target far from all others; 3 towers of 2
// samples, so 10 steps an epoch. The seed puts that row into step `spike` of the first epoch.
class MadeRuns {
 public:
  static constexpr int64_t outlier = 17;

  MadeRuns() {
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
  RunResult train(const std::string& name, const Words& more) const {
    Reports reports;
    return train(name, more, reports);
  }
  RunResult resume(const std::string& name, const Words& more, Reports& reports) const {
    return train(name, more, reports, {.resume = "auto"});
  }
  RunResult resume(const std::string& name, const Words& more) const {
    Reports reports;
    return resume(name, more, reports);
  }

 private:
  Folder folder_;
};

}  // namespace spire
