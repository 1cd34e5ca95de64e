// What a check of this machine found: a topic, how good it is, what was seen and what to do.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spire {

enum class FindingLevel : uint8_t {
  ok,
  warn,  // runs may be slower, or fail in some cases
  fail,  // runs of this kind fail, or cannot be trusted
};
std::string_view to_string(FindingLevel level);  // "ok"

struct Finding {
  std::string topic;  // one word: "driver", "memlock"; a topic may have several findings
  FindingLevel level = FindingLevel::ok;
  std::string seen;
  std::string remedy = {};                                  // empty if level is ok
  std::vector<std::pair<std::string, double>> values = {};  // for scripts: ("free_bytes", 1e9)
};
using Findings = std::vector<Finding>;

FindingLevel worst(const Findings& findings);  // ok if there are none

Finding warning(Finding finding, std::string remedy);  // with level warn
void append(Findings& findings, Findings more);

// "8.0 MiB", "unlimited" for the system's infinite limits, "1.2 GB/s".
std::string limit_text(uint64_t bytes);
std::string rate_text(double bytes_per_s);

}  // namespace spire
