#include <spire/base/error.h>
#include <spire/config/check.h>
#include <spire/config/value.h>

namespace spire {

namespace {

// Empty when global_batch fits the towers. `batch_size` counts only when towers divide.
std::string batch_conflict(const RunConfig& config, int64_t towers) {
  int64_t global = *config.global_batch;
  if (global % towers != 0) {
    return fmt::format("{} samples cannot be divided among {} towers; make it a multiple of {}",
                       global, towers, towers);
  }
  if (global == config.batch_size * towers) return "";
  return fmt::format(
      "{} is not batch_size {} x {} towers; make them agree or give one of them only", global,
      config.batch_size, towers);
}

void schedule_conflicts(const RunConfig& config, std::vector<Problem>& problems) {
  const ScheduleConfig& schedule = config.schedule;
  if (config.steps && schedule.warmup_steps > *config.steps) {
    problems.push_back(
        {"schedule.warmup_steps", fmt::format("{} is longer than the run of {} steps",
                                              schedule.warmup_steps, *config.steps)});
  }
  if (!config.steps && config.epochs > 0 && schedule.warmup_steps == 0 &&
      schedule.warmup_epochs > static_cast<double>(config.epochs)) {
    problems.push_back(
        {"schedule.warmup_epochs", fmt::format("{} is longer than the run of {} epochs",
                                               schedule.warmup_epochs, config.epochs)});
  }
  if (schedule.min_lr > config.optimizer.lr) {
    problems.push_back({"schedule.min_lr", fmt::format("{} is above optimizer.lr {}",
                                                       schedule.min_lr, config.optimizer.lr)});
  }
}

}  // namespace

std::vector<Problem> find_conflicts(const RunConfig& config) {
  std::vector<Problem> problems;
  if (config.global_batch && config.towers) {
    std::string text = batch_conflict(config, *config.towers);
    if (!text.empty()) problems.push_back({"global_batch", text});
  }
  if (config.epochs == 0 && !config.steps) {
    problems.push_back(
        {"epochs", "0 epochs and no steps leave nothing to do; set epochs or steps"});
  }
  schedule_conflicts(config, problems);
  if (config.optimizer.name == "sgd" && config.optimizer.nesterov &&
      config.optimizer.momentum == 0) {
    problems.push_back({"optimizer.nesterov", "needs optimizer.momentum above 0"});
  }
  return problems;
}

void check_config(RunConfig& config) {
  std::vector<std::string> lines;
  for (const Field& field : schema()) {
    try {
      check_value(field, config);
    } catch (const Error& error) {
      lines.push_back(fmt::format("{}: {}", field.path, error.what()));
    }
  }
  for (const Problem& problem : find_conflicts(config)) {
    lines.push_back(fmt::format("{}: {}", problem.path, problem.text));
  }
  if (!lines.empty()) fail(Category::config, "{}", fmt::join(lines, "\n"));
}

void settle_batch(RunConfig& config, int64_t default_towers) {
  bool derive = config.global_batch && !config.towers;
  if (!config.towers) config.towers = default_towers;
  if (derive) config.batch_size = std::max<int64_t>(1, *config.global_batch / *config.towers);
  if (!config.global_batch) config.global_batch = config.batch_size * *config.towers;
  std::string conflict = batch_conflict(config, *config.towers);
  if (!conflict.empty()) fail(Category::config, "global_batch: {}", conflict);
}

}  // namespace spire
