// Checks a whole config for keys that contradict each other.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/run_config.h>

namespace spire::inline config {

struct Problem {
  std::string path;  // the key to change
  std::string text;
  std::string other = {};  // the key that it contradicts; empty: none
};
std::vector<Problem> find_conflicts(const RunConfig& config);

// Checks words, ranges and conflicts of a config that a program made, not YAML, and expands
// `devices`. Throws one Error(config) with all problems, one a line.
void check_config(RunConfig& config);

// Sets those of towers, global_batch and batch_size that are not given, so that global_batch =
// batch_size x towers. Throws Error(config) when they do not divide or disagree. Idempotent.
void settle_batch(RunConfig& config, int64_t default_towers);

}  // namespace spire::inline config
