// trainer doctor: checks what of this machine helps, hinders or breaks runs.
#include <chrono>
#include <string_view>
#include <utility>

#include <spire/error.h>
#include <spire/plan.h>

#include "build_info.h"
#include "engine/base/system.h"
#include "engine/base/text.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/doctor/check_machine.h"
#include "tools/doctor/doctor_report.h"
#include "tools/doctor/peer_trial.h"
#include "tools/output/streams.h"

namespace spire {

namespace {

MachineCheck check_of(const Arguments& arguments, const ResolvedConfig& resolved) {
  MachineCheck check{.config = resolved.config, .copy_seconds = arguments.doctor.copy_seconds};
  if (!arguments.configs.empty())
    check.plan = [&resolved] {
      return naming_places(resolved, [&resolved] { return plan(resolved.config); });
    };
  check.try_copies = [&arguments](std::vector<PeerCopy> copies) {
    return try_in_children(std::move(copies), {.copy_seconds = arguments.doctor.copy_seconds});
  };
  if (!arguments.quiet)
    check.on_topic = [](std::string_view topic) { print_log("checking {}\n", topic); };
  return check;
}

}  // namespace

int run_doctor(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  Findings findings = check_machine(check_of(arguments, *resolved));
  if (arguments.doctor.json) {
    std::string now = utc_text(std::chrono::system_clock::now());
    result_text(findings_json(findings, {std::string(build_info::version), host_name(), now}));
  } else {
    result_text(findings_text(findings));
  }
  if (worst(findings) < FindingLevel::fail) return 0;
  std::vector<std::string> failed;
  for (const Finding& finding : findings)
    if (finding.level == FindingLevel::fail && (failed.empty() || failed.back() != finding.topic))
      failed.push_back(finding.topic);
  fail(Category::device, "not all is well: {}; the report has remedies", quoted_list(failed));
}

int run_doctor_peers(const Arguments& arguments) {
  return try_named_copies(arguments.doctor.copies);
}

}  // namespace spire
