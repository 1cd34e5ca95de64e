// What all runs of one course have in common: their hash and their last evaluation.
#pragma once
#include "tests/runs/run_folder.h"

namespace spire {

// Runs the words of a run into `directory` of `folder`, each time with further words of devices,
// processes and strategies. Fails unless all end with the same hash and the same numbers of the
// last evaluation.
void expect_one_hash(const RunFolder& folder, const std::string& directory, const Words& words);

}  // namespace spire
