#include "engine/run/audit/bit_keys.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "engine/config/check.h"
#include "engine/config/text.h"

namespace spire {
namespace {

// Keys without influence on a resumed run's result that make two runs differ all the same: a
// resumed run keeps them. Memory, devices and strategy never change bits.
const std::set<std::string> kept_keys = {"seed", "batch_size", "towers", "tower_threads"};

using Config = const RunConfig&;

// Keys that change nothing beside some values of others; Field::used_by has more of them.
struct Idle {
  std::string_view key;
  bool (*idle)(Config);
};
constexpr auto idle_keys = std::to_array<Idle>({
    {"best.metric", [](Config c) { return c.early_stop.patience == 0; }},
    {"best.mode", [](Config c) { return c.early_stop.patience == 0; }},
    {"early_stop.min_delta", [](Config c) { return c.early_stop.patience == 0; }},
    {"ema.warmup", [](Config c) { return c.ema.decay == 0; }},
    {"epochs", [](Config c) { return c.steps.has_value(); }},
    {"freeze_batch_norm", [](Config c) { return c.freeze.empty(); }},
    {"guard.window", [](Config c) { return c.guard.loss_zscore <= 0 && c.guard.grad_zscore <= 0; }},
    {"guard.max_skips",
     [](Config c) { return c.guard.on_bad_step == GuardConfig::OnBadStep::stop; }},
    {"guard.max_rollbacks",
     [](Config c) { return c.guard.on_bad_step != GuardConfig::OnBadStep::rollback; }},
    {"schedule.warmup_epochs", [](Config c) { return c.schedule.warmup_steps > 0; }},
    {"schedule.step_epochs", [](Config c) { return c.schedule.step_steps > 0; }},
    {"schedule.milestones", [](Config c) { return !c.schedule.milestone_steps.empty(); }},
    {"data.augment.min_scale", [](Config c) { return !c.data.augment.random_resized_crop; }},
    {"data.augment.rand_augment.magnitude",
     [](Config c) { return c.data.augment.rand_augment.count == 0; }},
    {"data.augment.erase.min_share",
     [](Config c) { return c.data.augment.erase.probability == 0; }},
    {"data.augment.erase.max_share",
     [](Config c) { return c.data.augment.erase.probability == 0; }},
});

bool is_idle(const Field& field, Config config) {
  auto row = std::ranges::find(idle_keys, field.path, &Idle::key);
  return row != idle_keys.end() && row->idle(config);
}

LossConfig::Name loss_of(Task task) {
  using Name = LossConfig::Name;
  switch (task) {
    case Task::classify:
    case Task::segment:
    case Task::predict_tokens:
      return Name::cross_entropy;
    case Task::regress:
      return Name::mse;
    case Task::reconstruct:
      return Name::l1_l2;
    case Task::custom:
      break;
  }
  return Name::automatic;
}

void settle_target(Task task, TargetKind& kind) {
  if (kind != TargetKind::automatic) return;
  if (task == Task::classify) kind = TargetKind::classes;
  if (task == Task::regress) kind = TargetKind::values;
}

void settle(Task task, RunConfig& config) {
  if (config.loss.name == LossConfig::Name::automatic) config.loss.name = loss_of(task);
  for (TargetKind* kind : {&config.data.csv.task, &config.data.hdf5.task, &config.data.npy.task})
    settle_target(task, *kind);
}

}  // namespace

void settle_best(Metric by_task, BestConfig& best) {
  if (best.metric == "auto") best.metric = to_string(by_task);
  auto metric = find_metric(best.metric);
  if (!metric || best.mode != BestConfig::Mode::automatic) return;
  best.mode = higher_is_better(*metric) ? BestConfig::Mode::max : BestConfig::Mode::min;
}

BitContext bit_context(const RunSetup& setup) {
  return {.on_cpus = setup.placement.devices[0].id.kind == DeviceKind::cpu,
          .task = setup.task(),
          .metric = setup.metric(),
          .found = setup.data.found};
}

BitKeys::BitKeys(RunConfig config, BitContext context)
    : config_(std::move(config)), context_(std::move(context)) {
  if (context_.task) settle(*context_.task, config_);
  if (context_.metric) settle_best(*context_.metric, config_.best);
}

bool BitKeys::decide(const Field& field) const {
  if (unused(field, config_) || used_by_auto(field, config_) || is_idle(field, config_))
    return false;
  // It follows from the other two, unless the last tower has fewer samples.
  if (field.path == "global_batch") return !evenly_divided(config_);
  if (field.path.starts_with("cuda.") && context_.on_cpus) return false;
  return field.shapes_result || kept_keys.contains(field.path);
}

std::string BitKeys::value(const Field& field) const {
  std::string text = value_text(field, config_);
  auto found = context_.found.find(field.path);
  return text == "auto" && found != context_.found.end() ? found->second : text;
}

std::vector<BitDifference> differences(const BitKeys& a, const BitKeys& b) {
  std::vector<BitDifference> differences;
  for (const Field& field : schema()) {
    if (!a.decide(field) && !b.decide(field)) continue;
    std::string first = a.value(field), second = b.value(field);
    if (first != second) differences.push_back({&field, first, second});
  }
  return differences;
}

}  // namespace spire
