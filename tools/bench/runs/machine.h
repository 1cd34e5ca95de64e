// The machine of a benchmark, as its report names it. Its cores are logical CPUs.
#pragma once
#include "tools/bench/report/bench_report.h"

namespace spire {

Machine this_machine();

}  // namespace spire
