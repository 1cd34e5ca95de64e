#include "tools/audit/audit.h"

#include "tools/audit/audit_run.h"

namespace spire {

struct AuditedRun::Impl {
  RunAuditor auditor;
};

AuditedRun::AuditedRun(const std::filesystem::path& directory,
                       const std::vector<std::string>& overrides)
    : impl_(new Impl{RunAuditor(directory, overrides)}) {}

AuditedRun::~AuditedRun() = default;
AuditedRun::AuditedRun(AuditedRun&&) noexcept = default;
AuditedRun& AuditedRun::operator=(AuditedRun&&) noexcept = default;

RecordAudit AuditedRun::check() const {
  const AuditLog& log = impl_->auditor.log();
  RunCheck check = impl_->auditor.check();
  RecordAudit audit{.problems = std::move(check.problems),
                    .steps = std::ssize(log.records),
                    .last = log.last,
                    .checkpoints = check.checkpoints,
                    .metrics = check.metrics,
                    .chain = {},
                    .unreachable = impl_->auditor.unreachable()};
  if (audit.problems.empty()) audit.chain = log.values.at(log.last);
  return audit;
}

AuditSegment AuditedRun::segment(const std::string& from, int64_t steps) {
  return impl_->auditor.segment(from, steps);
}

std::vector<AuditSegment> AuditedRun::random_segments(int64_t count, int64_t steps,
                                                      uint64_t seed) const {
  return impl_->auditor.random_segments(count, steps, seed);
}

ReplayAudit AuditedRun::replay(AuditSegment segment) const {
  SegmentAudit audit = impl_->auditor.audit(segment);
  return {.passed = audit.passed(), .text = to_text(audit)};
}

}  // namespace spire
