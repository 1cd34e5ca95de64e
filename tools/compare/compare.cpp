#include "tools/compare/compare.h"

#include "tools/compare/bisect_runs.h"

namespace spire {

struct ComparedRuns::Impl {
  RunRecords a, b;
};

ComparedRuns::ComparedRuns(const std::filesystem::path& a, const std::filesystem::path& b,
                           const std::vector<std::string>& overrides)
    : impl_(new Impl{read_run_records(a, overrides), read_run_records(b, overrides)}) {}

ComparedRuns::~ComparedRuns() = default;
ComparedRuns::ComparedRuns(ComparedRuns&&) noexcept = default;
ComparedRuns& ComparedRuns::operator=(ComparedRuns&&) noexcept = default;

RunComparison ComparedRuns::compare_records() const {
  const auto& [a, b] = *impl_;
  RecordComparison records = spire::compare_records(a, b);
  std::vector<std::string> configs = config_differences(a.config, b.config, common_context(a, b));
  return {.equal = !records.first, .steps = records.steps, .text = to_text(a, b, configs, records)};
}

RunComparison ComparedRuns::bisect() const {
  Bisection found = spire::bisect(impl_->a, impl_->b);
  return {.equal = !found.difference && found.deviation.empty(),
          .steps = found.to,
          .text = to_text(found)};
}

}  // namespace spire
