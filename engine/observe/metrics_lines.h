// Reads the lines of metrics.jsonl, and in them the numbers that a run has computed.
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
  // line has null. Without numbers that were measured, such as times and speeds.
  std::vector<std::pair<std::string, double>> numbers = {};
  std::string parameter_hash = {}, chain = {};  // empty: none

  std::optional<double> number(std::string_view tag) const;  // none where the line lacks it
};

// Returns the lines in the order of the file, also several of one step. Leaves out a torn last line
// and lines of devices and checkpoints; returns none if there is no file. Throws what RegularFile
// throws.
std::vector<MetricsLine> read_metrics_lines(const std::filesystem::path& path);

// Numbers of one step, as far as its line has them.
struct StepRecord {
  std::optional<double> loss, grad_norm;  // NaN where the line says null: the number was not finite
  std::string parameter_hash = {}, chain = {};  // empty: none

  bool operator==(const StepRecord&) const = default;
};

// Returns the records of the file, which may have any length, by step; of two lines of a step the
// later one counts. Leaves out a torn last line, lines that are no records of steps, and values of
// a wrong type. Throws Error(config) if there is no such file.
std::map<int64_t, StepRecord> read_step_records(const std::filesystem::path& path);

}  // namespace spire
