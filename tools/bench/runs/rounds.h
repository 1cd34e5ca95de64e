// The rounds of a benchmark: every variant once a round, in rotating order, so that what else the
// machine does falls on all variants alike.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/bench/report/bench_report.h"

namespace spire {

struct RoundOptions {
  int64_t rounds = 3;
  std::optional<int64_t> steps = {};  // timed steps; none: as many as take `seconds` (see trial)
  int64_t warmup = 3;                 // steps before them
  double seconds = 5;
};

// Runs warmup + steps steps of a variant in processes of its own. Throws Error: interrupted where
// the user stops the benchmark, another category where the variant fails.
using RunVariant = std::function<Measurement(const Variant&, int64_t steps, int64_t warmup)>;
using LogLine = std::function<void(const std::string&)>;  // gets one line

// Adds rounds to report.points, whose variants are set, and sets report.steps and report.warmup. A
// point whose variant fails gets the error, and no further round. Without options.steps a trial of
// the variant with the shortest step finds them: all variants take the same steps, so that their
// weights compare. Returns false if the user stopped it: the rounds so far are there.
// on_round: called after each run that report.points has got.
bool run_rounds(
    BenchReport& report, const RoundOptions& options, const RunVariant& run, const LogLine& log,
    const std::function<void()>& on_round = [] {});

}  // namespace spire
