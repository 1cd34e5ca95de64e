// The lines of metrics.jsonl with the numbers that follow from what a run computed, one by one:
// also a second line of a step, which read_step_records() does not tell from the first.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace spire {

struct MetricsLine {
  enum class Kind { train, val, test };
  Kind kind = Kind::train;
  int64_t step = 0;
  // In the order of the line: "epoch", "samples_seen", "train/loss", "val/f1_macro". NaN where the
  // line has null. What was measured, as time and speed, is left out.
  std::vector<std::pair<std::string, double>> numbers = {};
  std::string parameter_hash = {}, chain = {};  // empty: none
};

// In the order of the file. A torn last line and lines of devices and checkpoints are left out;
// none without the file. Throws what RegularFile does.
std::vector<MetricsLine> read_metrics_lines(const std::filesystem::path& path);

}  // namespace spire
