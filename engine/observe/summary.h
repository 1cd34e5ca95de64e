// summary.json: the end of a run for scripts. docs/metrics.md describes its fields.
#pragma once
#include <spire/observe/observer.h>

#include <filesystem>
#include <functional>
#include <string>

namespace spire {

std::string summary_json(const RunSummary& summary);  // indented, ends with a newline

// Writes summary.json at the end of a run, whole or not at all; tells `warn` when it cannot.
class SummaryFile : public Observer {
 public:
  using Warn = std::function<void(std::string_view)>;
  SummaryFile(std::filesystem::path path, Warn warn);
  void on_end(const RunSummary& summary) override;

 private:
  const std::filesystem::path path_;
  const Warn warn_;
};

}  // namespace spire
