// What tests ask of findings.
#pragma once
#include <gmock/gmock.h>

#include "engine/run/machine/finding.h"

namespace spire {

constexpr uint64_t mib = uint64_t{1} << 20, gib = uint64_t{1} << 30;

// A finding of a topic and level, whose text (what was seen, then the remedy) contains `part`.
MATCHER_P3(IsFinding, topic, level, part, "") {
  std::string text = arg.seen + "; " + arg.remedy;
  *result_listener << arg.topic << " " << to_string(arg.level) << ": " << text;
  // Whoever hears of a problem is told what to do.
  return arg.topic == topic && arg.level == level && text.find(part) != text.npos &&
         (arg.level == FindingLevel::ok) == arg.remedy.empty();
}

inline auto good(const char* topic, const char* part) {
  return IsFinding(topic, FindingLevel::ok, part);
}
inline auto warns(const char* topic, const char* part) {
  return IsFinding(topic, FindingLevel::warn, part);
}
inline auto fails(const char* topic, const char* part) {
  return IsFinding(topic, FindingLevel::fail, part);
}

}  // namespace spire
