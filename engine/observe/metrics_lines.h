// The lines of metrics.jsonl with the numbers that follow from what a run computed.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

  std::optional<double> number(std::string_view tag) const;  // none where the line lacks it
};

// One by one, in the order of the file: also a second line of a step. A torn last line and lines of
// devices and checkpoints are left out; none without the file. Throws what RegularFile does.
std::vector<MetricsLine> read_metrics_lines(const std::filesystem::path& path);

// Numbers of one step, as far as its line has them.
struct StepRecord {
  std::optional<double> loss, grad_norm;  // NaN where the line says null: the number was not finite
  std::string parameter_hash = {}, chain = {};  // empty: none

  bool operator==(const StepRecord&) const = default;
};

// Returns the steps of the file, of any length, by number; the later of two lines counts. A torn
// last line, lines that are no records of steps, and values of a wrong type are left out. Throws
// Error(config) if there is no such file.
std::map<int64_t, StepRecord> read_step_records(const std::filesystem::path& path);

}  // namespace spire
