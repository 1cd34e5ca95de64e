// Writes summary.json, the outcome of a run for scripts. docs/metrics.md describes its fields.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include <spire/observer.h>

namespace spire::inline observe {

std::string summary_json(const RunSummary& summary);  // indented, ends with a newline

// Writes summary.json at the end of a run, whole or not at all; calls `warn` when it cannot. Writes
// nothing for a run without output, whose directory now belongs to another run.
class SummaryFile : public Observer {
 public:
  using Warn = std::function<void(std::string_view)>;
  SummaryFile(std::filesystem::path path, Warn warn);
  void on_start(const StartInfo& start) override;  // throws Error(config) for a bad path
  void on_end(const RunSummary& summary) override;
  std::string lost() const override { return lost_; }

 private:
  const std::filesystem::path path_;
  const Warn warn_;
  std::string lost_;
};

}  // namespace spire::inline observe
