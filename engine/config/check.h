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
std::vector<Problem> find_conflicts(const RunConfig& config);

// What is allowed and hardly meant.
std::vector<Problem> find_doubts(const RunConfig& config);

// Checks words, ranges and conflicts of a config that a program built (load_config() checks those
// from YAML), and expands `devices`. Throws one Error(config) with all problems, one per line.
void check_config(RunConfig& config);

// Returns the samples of a tower: its share, rounded up. The last tower takes what is left.
int64_t batch_of_tower(int64_t global_batch, int64_t towers);

// Whether all towers have as many samples, as far as the config says.
bool evenly_divided(const RunConfig& config);

// Sets those of towers, global_batch and batch_size that are not given, so that batch_size is
// global_batch / towers, rounded up. Throws Error(config) if a tower would then have no sample, if
// all three are given and disagree, and for a batch_size that is still auto. Idempotent.
void settle_batch(RunConfig& config, int64_t default_towers);

}  // namespace spire
