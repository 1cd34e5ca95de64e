#include "engine/observe/units.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <ctime>

#include <fmt/format.h>

#include "engine/base/message_words.h"

namespace spire::inline observe {

std::chrono::system_clock::time_point wall_time() {
  return std::chrono::system_clock::now();
}

std::string count_text(int64_t value) {
  std::string digits = fmt::format("{}", value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    bool group_starts = (digits.size() - i) % 3 == 0;
    if (group_starts && !text.empty() && text != "-") text += ' ';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(int64_t bytes) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would print as 1024.0
  for (; value >= 1023.95 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  auto whole = static_cast<int64_t>(std::llround(seconds));
  int64_t minutes = whole / 60 % 60;
  if (whole < 3600) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, minutes, whole % 60);
}

std::string percent_text(double share) {
  return fmt::format("{:.2f}%", 100 * share);
}

std::string loss_text(double loss) {
  return fmt::format("{:#.4g}", unsigned_nan(loss));
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace spire::inline observe
