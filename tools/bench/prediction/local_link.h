// The connection between processes of this host, by which predictions are checked against runs.
#pragma once
#include <cstdint>

#include "tools/bench/limits/device_crew.h"
#include "tools/bench/prediction/links.h"

namespace spire {

// Measures messages between two processes of this host: exchanges of 8 bytes give alpha, exchanges
// of `bytes` in both directions beta. The two ranks are threads with a socket between them.
Link measure_local_link(int64_t bytes = int64_t{8} << 20, const Repeats& repeats = {});

}  // namespace spire
