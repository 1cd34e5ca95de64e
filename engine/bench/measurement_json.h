// A Measurement as one line of JSON, which a process that measures sends to the one that asked.
#pragma once
#include <string>
#include <string_view>

#include "engine/bench/bench_report.h"

namespace spire::inline bench {

std::string to_message(const Measurement& measurement);  // without a newline

// Throws Error(collective) unless `text` is what to_message() writes.
Measurement measurement_from_message(std::string_view text);

}  // namespace spire::inline bench
