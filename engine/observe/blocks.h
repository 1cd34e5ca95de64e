// Blocks of text printed before and after a run: its plan and its outcome.
#pragma once
#include <string>

#include <spire/observer.h>

namespace spire::inline observe {

// Lists devices, global batch, parameters, planned memory by kind, length and output. Ends with a
// newline.
std::string start_block(const StartInfo& start);

// Lists best metric, time, samples/s and paths; the last line is "parameter hash  <hex>". Leaves
// out lines about evaluations or checkpoints that the run did not make.
std::string end_block(const RunSummary& summary);

}  // namespace spire::inline observe
