// The two blocks of text around a run: what it is about to do, and what came of it.
#pragma once
#include <string>

#include <spire/observer.h>

namespace spire::inline observe {

// Devices, global batch, parameters, planned memory by kind, length, output. Ends with a newline.
std::string start_block(const StartInfo& start);

// Best metric, time, samples/s, paths; the last line is "parameter hash  <hex>". Lines about what
// the run did not do (no evaluation, no checkpoint) are left out.
std::string end_block(const RunSummary& summary);

}  // namespace spire::inline observe
