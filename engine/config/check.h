// What no field can say alone: keys that must agree with each other.
#pragma once
#include <spire/run_config.h>

namespace spire::inline config {

struct Problem {
  std::string path;  // the key to look at
  std::string text;
  std::string other = {};  // the key that it does not fit, if there is one
};
std::vector<Problem> find_conflicts(const RunConfig& config);

// Allowed words, ranges and conflicts of a config that was not read from YAML: a host program's.
// All problems in one Error(config), one a line. Brings `devices` to its plain form.
void check_config(RunConfig& config);

// Fills in what follows from the number of devices: afterwards towers and global_batch are set, and
// global_batch = batch_size x towers. Where only global_batch was given, batch_size follows from
// it. Throws Error(config) when the numbers do not divide or disagree. Settling twice changes
// nothing.
void settle_batch(RunConfig& config, int64_t default_towers);

}  // namespace spire::inline config
