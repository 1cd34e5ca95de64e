// A run's folder with plausible files, without a run.
#pragma once
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include <spire/load_config.h>

#include "engine/config/text.h"
#include "tests/data/test_files.h"

namespace spire {

inline void put(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string made_step(int64_t step, int64_t of) {
  double epoch = static_cast<double>(step) / static_cast<double>(of);
  return fmt::format(
      R"({{"time":"2026-01-31T12:00:00Z","step":{},"epoch":{:.4f},"train/loss":{:.4f},)"
      R"("train/accuracy":{:.4f},"train/lr":{:.4f},"train/grad_norm":{:.3f},)"
      R"("perf/samples_per_s":{},"perf/step_ms":10,"time/data_wait_ms":1,"time/forward_ms":3,)"
      R"("time/backward_ms":5,"time/update_ms":1}})"
      "\n",
      step, epoch, 2.3 * std::exp(-epoch), 1 - std::exp(-epoch), 0.1 * (1 - epoch / 4), 1 + epoch,
      1000 + step % 10);
}

inline std::string made_eval(int64_t step, int64_t of) {
  double epoch = static_cast<double>(step) / static_cast<double>(of);
  return fmt::format(
      R"({{"time":"2026-01-31T12:00:01Z","step":{},"epoch":{:.4f},"val/loss":{:.4f},)"
      R"("val/accuracy":{:.4f}}})"
      "\n",
      step, epoch, 2.4 * std::exp(-epoch), 0.9 - std::exp(-epoch));
}

// Four epochs of 100 steps.
inline void write_made_run(const std::filesystem::path& run, int exit = 0,
                           const std::string& stopped_by = "") {
  std::string metrics;
  for (int64_t step = 1; step <= 400; ++step) {
    metrics += made_step(step, 100);
    if (step % 100 == 0) metrics += made_eval(step, 100);
  }
  put(run / "metrics.jsonl", metrics);
  put(run / "config.yaml", to_yaml(parse_config({}, {"model.name=cnn", "steps=400"}).config));
  put(run / "summary.json",
      fmt::format(R"({{"steps":400,"epochs":4.0,"train_loss":0.04,"val":{{"loss":0.05,)"
                  R"("accuracy":0.88,"best_accuracy":0.88}},"test":{{"loss":0.06,"accuracy":0.875,)"
                  R"("step":300}},"samples_per_s":1000.5,)"
                  R"("parameter_hash":"0123456789abcdef","devices":["cpu:0","cpu:1"],"towers":4,)"
                  R"("chain":"fedcba9876543210",)"
                  R"("processes":1,"seconds":75.2,"peak_memory_bytes":{{"weights":1048576,)"
                  R"("gradients":2097152,"host_rss":99999}},"planned_memory_bytes":{{)"
                  R"("weights":1048576,"gradients":2097152}},"exit":{},"stopped_by":"{}"}})",
                  exit, stopped_by));
  put(run / "checkpoints" / "step_00000400.h5", std::string(2048, 'h'));
  put(run / "checkpoints" / "best", "step_00000400.h5\n");
}

}  // namespace spire
