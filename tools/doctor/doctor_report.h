// The findings of `trainer doctor` as text for people and as JSON for scripts.
#pragma once
#include <string>

#include "engine/run/machine/finding.h"

namespace spire {

// A line a finding, with its remedy below it, and a line that counts them.
std::string findings_text(const Findings& findings);

struct DoctorFacts {
  std::string version, host, time;  // of this program; UTC
};
// docs/doctor.md has the layout. Ends with a newline.
std::string findings_json(const Findings& findings, const DoctorFacts& facts);

}  // namespace spire
