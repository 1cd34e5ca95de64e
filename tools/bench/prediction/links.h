// A connection between devices or processes in the alpha-beta model: a message of B bytes takes
// alpha + beta B seconds (Hockney, "The communication challenge for MPP: Intel Paragon and Meiko
// CS-2", 1994).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/bench/limits/device_team.h"

namespace spire {

struct Link {
  std::string name;
  double alpha = 0;  // seconds from the start of a message to its first byte
  double beta = 0;   // seconds a byte, each way
};

// Parses --link: "nvlink", "pcie", "ib:400Gb" (InfiniBand of 400 Gbit/s a device), "eth:100Gb", or
// "alpha,beta" in seconds and seconds a byte ("2e-6,1e-10"). docs/benchmarks.md has the figures and
// their sources. Throws Error(config), which lists what is allowed.
Link parse_link(std::string_view text);

// Measures messages between two processes of this host: exchanges of 8 bytes give alpha, exchanges
// of `bytes` in both directions beta. The two ranks are threads with a socket between them.
// Predictions by this link are checked against runs.
Link measure_local_link(int64_t bytes = int64_t{8} << 20, const Repeats& repeats = {});

}  // namespace spire
