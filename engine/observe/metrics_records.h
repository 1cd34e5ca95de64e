// Reads the steps of a run back from its metrics.jsonl.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace spire {

// Numbers of one step, as far as its line has them.
struct StepRecord {
  std::optional<double> loss, grad_norm;  // NaN where the line says null: the number was not finite
  std::string parameter_hash = {}, chain = {};  // empty: none

  bool operator==(const StepRecord&) const = default;
};

// Returns the steps of the file, of any length, by number. A torn last line, lines that are no
// records of steps, and values of a wrong type are left out. Throws Error(config) if there is no
// such file.
std::map<int64_t, StepRecord> read_step_records(const std::filesystem::path& path);

}  // namespace spire
