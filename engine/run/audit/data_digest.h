// Digest of a run's data, as far as it can be had in a second: it tells other data from the run's,
// and damage of most kinds. The values themselves show in the records of the steps.
#pragma once
#include <string>

#include "engine/data/dataset.h"
#include "engine/run/run_setup.h"

namespace spire {

// Covers of training, test and validation data, if there is any: number of samples, columns and
// classes, the row checksums that its files contain, and each file's name. Of up to 1000 files also
// the size, and the content: all of files of up to 64 MiB as long as they are 512 MiB together, of
// others the first and last MiB. Folders do not count, so that data may lie elsewhere. Throws
// Error(data) for a file that cannot be read.
std::string data_digest(const DatasetPair& data);

// Says whether the data of a resumed run is what it was when the run stopped.
// Compares the root that the checkpoint's chain has, which audit.jsonl of its run holds, with that
// of the run as it goes on. Returns a sentence that names the data and the files that have changed
// since; "" where the data is the same, or the old root is not there. REQUIRES: setup.resumed.
std::string changed_data(const RunSetup& setup, const std::string& old_digest,
                         const std::string& root);

}  // namespace spire
