// Formats numbers, sizes, durations and times for people.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace spire::inline observe {

// A clock that tests can replace.
using WallClock = std::function<std::chrono::system_clock::time_point()>;
std::chrono::system_clock::time_point wall_time();

std::string count_text(int64_t value);      // 60000 -> "60 000"
std::string bytes_text(int64_t bytes);      // 1536 -> "1.5 KiB"
std::string duration_text(double seconds);  // 75.2 -> "1:15", 4000 -> "1:06:40"; "-" if not finite
std::string percent_text(double share);     // 0.9271 -> "92.71%"
std::string loss_text(double loss);         // four significant digits: "0.1234", "12.35", "nan"
std::string utc_text(std::chrono::system_clock::time_point time);  // "2026-01-31T12:00:00Z"

}  // namespace spire::inline observe
