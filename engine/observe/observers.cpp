#include <filesystem>

#include <spire/load_config.h>
#include <spire/observer.h>

#include "engine/config/scalar.h"
#include "engine/observe/console.h"
#include "engine/observe/http/http_server.h"
#include "engine/observe/json_files.h"
#include "engine/observe/tensorboard/tensorboard_files.h"

namespace spire {
namespace {

class WithoutWarnings : public Console {
 public:
  using Console::Console;
  void on_warning(std::string_view) override {}
};

}  // namespace

std::unique_ptr<Observer> console_observer(std::ostream& log, std::ostream& results,
                                           const ConsoleOptions& options) {
  if (options.warnings) return std::make_unique<Console>(log, results, options);
  return std::make_unique<WithoutWarnings>(log, results, options);
}

std::unique_ptr<Observer> file_observer(const RunConfig& config, const SayLine& warn) {
  std::filesystem::path folder = config.output;
  auto all = std::make_unique<ObserverList>();
  all->add(std::make_unique<MetricsFile>(folder / "metrics.jsonl", warn));
  all->add(std::make_unique<AuditFile>(folder / "audit.jsonl", warn));
  all->add(std::make_unique<SummaryFile>(folder / "summary.json", warn));
  if (config.log.tensorboard)
    all->add(std::make_unique<TensorBoardFiles>(folder / "tensorboard", to_yaml(config), warn));
  return all;
}

std::unique_ptr<Observer> http_observer(const RunConfig& config, const SayLine& note,
                                        const SayLine& warn) {
  using Offers = RunServer::Offers;
  auto metrics = parse_listen_address(config.monitor.prometheus);
  auto page = parse_listen_address(config.monitor.serve);
  auto all = std::make_unique<ObserverList>();
  if (metrics && metrics != page)
    all->add(std::make_unique<RunServer>(*metrics, Offers{.metrics = true}, note, warn));
  if (page) all->add(std::make_unique<RunServer>(*page, Offers{true, metrics == page}, note, warn));
  return all;
}

void ObserverList::on_start(const StartInfo& start) {
  for (auto& observer : observers_) observer->on_start(start);
}

void ObserverList::on_step(const StepReport& step) {
  for (auto& observer : observers_) observer->on_step(step);
}

void ObserverList::on_eval(const EvalReport& eval) {
  for (auto& observer : observers_) observer->on_eval(eval);
}

void ObserverList::on_test(const EvalReport& eval) {
  for (auto& observer : observers_) observer->on_test(eval);
}

void ObserverList::on_checkpoint(const CheckpointReport& checkpoint) {
  for (auto& observer : observers_) observer->on_checkpoint(checkpoint);
}

void ObserverList::on_note(std::string_view text) {
  for (auto& observer : observers_) observer->on_note(text);
}

void ObserverList::on_warning(std::string_view text) {
  for (auto& observer : observers_) observer->on_warning(text);
}

void ObserverList::on_end(const RunSummary& summary) {
  for (auto& observer : observers_) observer->on_end(summary);
}

std::string ObserverList::lost() const {
  for (const auto& observer : observers_)
    if (std::string text = observer->lost(); !text.empty()) return text;
  return "";
}

}  // namespace spire
