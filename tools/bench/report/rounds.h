// What the rounds of one point have in common: medians of times, most of each kind of memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/report/bench_report.h"

namespace spire {

// Returns the mean of the two values in the middle if their number is even. Throws
// Error(unexpected) if there are none.
double median(std::vector<double> values);

// Returns samples/s of each round.
std::vector<double> speeds_of(const Point& point);
// Returns the round of median speed; of an even number the slower of the two in the middle.
// REQUIRES: there are rounds.
const Measurement& median_round(const Point& point);

// Bytes of the round that took most, for each amount by itself.
struct PointMemory {
  int64_t rss = 0;
  BytesByKind peak, planned;
};
PointMemory memory_of(const Point& point);

int64_t total_bytes(const BytesByKind& memory);
// Sums all entries of a kind; nullopt if there are none.
std::optional<int64_t> bytes_of(const BytesByKind& memory, std::string_view kind);
// Adds up entries of one kind; kinds keep the order in which they first appear.
BytesByKind merged(const BytesByKind& memory);

// Kinds of memory of devices that any point has, in order of first appearance.
std::vector<std::string> memory_kinds(const BenchReport& report);

// Median over rounds of the seconds from the start of a process to the end of its first step;
// nullopt without rounds.
std::optional<double> first_step_seconds(const Point& point);

}  // namespace spire
