// Every row of a dataset, read once, and what is wrong with it on stdout: trainer dataset verify
// and trainer --check --deep.
#pragma once
#include <spire/run_config.h>

#include "tools/arguments.h"

namespace spire::tool {

// Throws Error(data) where a row cannot be used or a checksum is wrong. may_skip: bad rows are no
// fault, as long as there are good ones.
void verify_data(const Arguments& arguments, const RunConfig& config, bool may_skip);

}  // namespace spire::tool
