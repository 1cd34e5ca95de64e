// Writes audit.jsonl: the root of the run's chain and a line a step (docs/audit.md).
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <spire/observer.h>

#include "engine/observe/line_file.h"

namespace spire {

// A resumed run first cuts off a torn last line and all steps after its checkpoint, as MetricsFile.
// A run without audit.chain removes what an earlier one has left in the file.
class AuditFile : public Observer {
 public:
  AuditFile(std::filesystem::path path, LineFile::Warn warn)
      : file_(std::move(path), std::move(warn)) {}

  void on_start(const StartInfo& start) override;  // throws Error(config)
  void on_step(const StepReport& step) override { file_.append(step.audit_line); }
  std::string lost() const override { return file_.lost(); }

 private:
  LineFile file_;
};

// Returns the whole lines of `text`, to the first that is of a later step or not of this file.
std::string audit_through(std::string_view text, int64_t step);

}  // namespace spire
