#include "tools/bench/report/rounds.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <spire/error.h>

namespace spire {
namespace {

BytesByKind::iterator find_kind(BytesByKind& memory, std::string_view kind) {
  return std::ranges::find(memory, kind, &BytesByKind::value_type::first);
}

// Raises each kind of `most` to what `memory` has of it.
void raise(BytesByKind& most, const BytesByKind& memory) {
  for (const auto& [kind, bytes] : merged(memory)) {
    auto found = find_kind(most, kind);
    if (found == most.end()) {
      most.emplace_back(kind, bytes);
    } else {
      found->second = std::max(found->second, bytes);
    }
  }
}

}  // namespace

double median(std::vector<double> values) {
  require(!values.empty(), "median: no values");
  std::ranges::sort(values);
  size_t upper = values.size() / 2;
  return values.size() % 2 == 1 ? values[upper] : (values[upper - 1] + values[upper]) / 2;
}

std::vector<double> speeds_of(const Point& point) {
  std::vector<double> speeds;
  for (const Measurement& round : point.rounds) speeds.push_back(round.samples_per_s);
  return speeds;
}

const Measurement& median_round(const Point& point) {
  require(!point.rounds.empty(), "median_round: no rounds");
  std::vector<const Measurement*> rounds;
  for (const Measurement& round : point.rounds) rounds.push_back(&round);
  std::ranges::stable_sort(rounds, {}, &Measurement::samples_per_s);
  return *rounds[(rounds.size() - 1) / 2];
}

PointMemory memory_of(const Point& point) {
  PointMemory memory;
  for (const Measurement& round : point.rounds) {
    memory.rss = std::max(memory.rss, round.peak_rss);
    raise(memory.peak, round.peak_memory);
    raise(memory.planned, round.planned_memory);
  }
  return memory;
}

int64_t total_bytes(const BytesByKind& memory) {
  int64_t total = 0;
  for (const auto& [kind, bytes] : memory) total += bytes;
  return total;
}

std::optional<int64_t> bytes_of(const BytesByKind& memory, std::string_view kind) {
  std::optional<int64_t> sum;
  for (const auto& [name, bytes] : memory)
    if (name == kind) sum = sum.value_or(0) + bytes;
  return sum;
}

BytesByKind merged(const BytesByKind& memory) {
  BytesByKind sums;
  for (const auto& [kind, bytes] : memory) {
    auto found = find_kind(sums, kind);
    if (found == sums.end()) {
      sums.emplace_back(kind, bytes);
    } else {
      found->second += bytes;
    }
  }
  return sums;
}

std::vector<std::string> memory_kinds(const BenchReport& report) {
  std::vector<std::string> kinds;
  for (const Point& point : report.points)
    for (const auto& [kind, bytes] : memory_of(point).peak)
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  return kinds;
}

std::optional<double> first_step_seconds(const Point& point) {
  if (point.rounds.empty()) return std::nullopt;
  std::vector<double> seconds;
  for (const Measurement& round : point.rounds) seconds.push_back(round.first_step_seconds);
  return median(std::move(seconds));
}

}  // namespace spire
