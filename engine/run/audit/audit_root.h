// The root of a run's chain: all that decides the bits of a run, from the config to the versions of
// libraries, as one JSON object. It has the kind of the devices, but not which devices, processes
// and strategy the run has.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/run/run_setup.h"

namespace spire {

// Steps between two hashes of the weights: audit.weights_every_steps, or as many as the size of
// the model makes cheap. The cost of a hash grows with the model, that of a step at least as fast.
int64_t weights_interval(const AuditConfig& config, int64_t parameters);

// weights_every: weights_interval(). Reads the data's files for a digest of them, as far as it can
// be had in a second: it tells other data from the run's, and damage of most kinds. The values
// themselves show in the records of the steps. Throws Error(data) for a file that cannot be read.
std::string root_text(const RunSetup& setup, int64_t weights_every);

struct RootCheck {
  std::vector<std::string> differences;  // "data: 3f... and 81..." for each entry that differs
  // Whether config, data or the data's description differ: a replay here is then another run. If
  // only libraries or engines differ, a replay may still give the same bits.
  bool other_run = false;
};
// Compares a recorded root with that of the run here. Ignores keys of the recorded config that
// decide no bits here.
RootCheck check_root(const std::string& recorded, const RunSetup& setup, int64_t weights_every);

// Returns a sentence if the data of a resumed run is not what it was when the run stopped; it names
// the files that have changed since. Returns "" if the data is the same, or the old root is not
// found. old_digest: of the root before, which audit.jsonl of the checkpoint's run contains. root:
// of the run as it goes on. REQUIRES: setup.resumed.
std::string changed_data(const RunSetup& setup, const std::string& old_digest,
                         const std::string& root);

}  // namespace spire
