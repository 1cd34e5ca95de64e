#include "tools/console.h"

#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "engine/observe/console.h"
#include "engine/observe/metrics_file.h"
#include "engine/observe/summary.h"

namespace spire::tool {

namespace {

class WithoutWarnings : public Console {
 public:
  using Console::Console;
  void on_warning(std::string_view) override {}
};

}  // namespace

std::unique_ptr<Observer> make_console(const Arguments& arguments, const RunConfig& config) {
  ConsoleOptions options;
  options.terminal = terminal_of(STDERR_FILENO);
  options.every_seconds = config.log.every_seconds;
  options.quiet = arguments.quiet || arguments.log_level != "info";
  if (arguments.log_level == "error") {
    return std::make_unique<WithoutWarnings>(std::cerr, std::cout, std::move(options));
  }
  return std::make_unique<Console>(std::cerr, std::cout, std::move(options));
}

std::unique_ptr<Observer> make_observers(const Arguments& arguments, const RunConfig& config) {
  auto console = make_console(arguments, config);
  if (arguments.dry_run > 0) return console;
  auto warn = [shown = console.get()](std::string_view text) { shown->on_warning(text); };
  std::filesystem::path folder = config.output;
  auto all = std::make_unique<ObserverList>();
  // The files come first: what the console says at the end is then already on disk.
  all->add(std::make_unique<MetricsFile>(folder / "metrics.jsonl", warn));
  all->add(std::make_unique<SummaryFile>(folder / "summary.json", warn));
  all->add(std::move(console));
  return all;
}

}  // namespace spire::tool
