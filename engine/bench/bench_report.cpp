#include "engine/bench/bench_report.h"

#include <set>

#include <fmt/format.h>

#include "engine/base/message_words.h"
#include "engine/config/words.h"

namespace spire::inline bench {

std::string to_text(const Variant& variant) {
  return fmt::format("{} {}, {}, {}, {}, {}", variant.devices, word_of(variant.kind),
                     counted(variant.processes, "process"), counted(variant.towers, "tower"),
                     word_of(variant.precision), word_of(variant.strategy));
}

std::optional<bool> same_bits(const BenchReport& report, RunConfig::Precision precision) {
  int points = 0;
  std::set<std::string> hashes;
  for (const Point& point : report.points) {
    const Variant& variant = point.variant;
    if (variant.scaling != Scaling::strong || variant.precision != precision) continue;
    if (!point.rounds.empty()) ++points;
    for (const Measurement& round : point.rounds) hashes.insert(round.parameter_hash);
  }
  return points < 2 ? std::nullopt : std::optional(hashes.size() == 1);
}

}  // namespace spire::inline bench
