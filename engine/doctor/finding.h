// How checks put their findings together (<spire/commands/finding.h>).
#pragma once
#include <cstdint>
#include <string>

#include <spire/commands/finding.h>

namespace spire {

Finding warning(Finding finding, std::string remedy);  // raises its level
void append(Findings& findings, Findings more);

// "8.0 MiB", "unlimited" for the system's infinite limits, "1.2 GB/s".
std::string limit_text(uint64_t bytes);
std::string rate_text(double bytes_per_s);

}  // namespace spire
