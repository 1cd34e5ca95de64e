// Checks a whole config for keys that contradict each other.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/run_config.h>

namespace spire {

struct Problem {
  std::string path;        // the key to change
  std::string text;        // the message
  std::string other = {};  // the key that it contradicts; empty if there is none
};
// Returns errors: keys whose values exclude each other.
std::vector<Problem> find_conflicts(const RunConfig& config);

// Returns warnings: values that are allowed, but are hardly meant.
std::vector<Problem> find_doubts(const RunConfig& config);

// Checks words, ranges and conflicts of a config that a program built (load_config() checks configs
// from YAML), and expands `devices`. Throws one Error(config) with all problems, one per line.
void check_config(RunConfig& config);

// Returns the samples of a tower: global_batch / towers, rounded up. The last tower may have fewer.
int64_t batch_of_tower(int64_t global_batch, int64_t towers);

// Returns whether all towers have equally many samples; true if global_batch or towers is not set.
bool evenly_divided(const RunConfig& config);

// Sets those of towers (to default_towers), global_batch and batch_size that are not given, so that
// batch_size is global_batch / towers, rounded up. Throws Error(config) if a tower would have no
// sample, if all three are given and disagree, and for batch_size 0 (auto) without both others.
// Idempotent.
void settle_batch(RunConfig& config, int64_t default_towers);

}  // namespace spire
