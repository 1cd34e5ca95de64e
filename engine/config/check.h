// Checks a whole config: keys that must agree with each other.
#pragma once
#include <spire/run_config.h>

namespace spire::inline config {

// A conflict between keys.
struct Problem {
  std::string path;  // the key to change
  std::string text;
  std::string other = {};  // the key that it contradicts; empty: none
};
std::vector<Problem> find_conflicts(const RunConfig& config);

// Checks words, ranges and conflicts of a host program's config, which was not read from YAML.
// Throws one Error(config) with all problems, one a line. Expands `devices` (expand_devices).
void check_config(RunConfig& config);

// Sets towers, global_batch and batch_size so that global_batch = batch_size x towers. Towers
// default to the number of devices; batch_size follows where only global_batch was given. Throws
// Error(config) when the numbers do not divide or disagree. Idempotent.
void settle_batch(RunConfig& config, int64_t default_towers);

}  // namespace spire::inline config
