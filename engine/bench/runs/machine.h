// The machine of a benchmark, as its report names it. Its cores are logical CPUs.
#pragma once
#include "engine/bench/report/bench_report.h"

namespace spire::inline bench {

Machine this_machine();

}  // namespace spire::inline bench
