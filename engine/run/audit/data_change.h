// Says whether the data of a resumed run is what it was when the run stopped.
#pragma once
#include <string>

#include "engine/run/run_setup.h"

namespace spire {

// Compares the root that the checkpoint's chain has, which audit.jsonl of its run holds, with that
// of the run as it goes on. Returns a sentence that names the data and the files that have changed
// since; "" where the data is the same, or the old root is not there. REQUIRES: setup.resumed.
std::string changed_data(const RunSetup& setup, const std::string& old_digest,
                         const std::string& root);

}  // namespace spire
