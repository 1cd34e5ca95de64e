#include "tools/compare/replay.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/thread.h"
#include "engine/config/devices.h"
#include "engine/run/initial/initial_weights.h"
#include "engine/run/run_checkpoints.h"
#include "engine/run/run_data.h"
#include "tools/process/attempt.h"

namespace spire {

namespace {

// Idle GPUs are not chosen again: two replays in one process would wait for each other's.
RunConfig on_any_gpus(RunConfig config) {
  auto group = gpu_group(expand_devices(config.devices).front());
  if (group && group->idle) config.devices = {fmt::format("{}xcuda", *group->count)};
  return config;
}

// Shows tensors to one observer after the other.
class BothObservers : public TensorObserver {
 public:
  BothObservers(TensorObserver& first, TensorObserver& second) : first_(first), second_(second) {}
  void on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                 std::span<const std::byte> values) override {
    first_.on_tensor(tower, name, spec, values);
    second_.on_tensor(tower, name, spec, values);
  }

 private:
  TensorObserver &first_, &second_;
};

}  // namespace

Replay::Replay(const RunConfig& config, const std::optional<LoadedCheckpoint>& from,
               const ReplayHooks& hooks)
    : world_(join_world({}, {.cores = allowed_cores(), .on_exit_timeout = end_process})),
      hooks_(hooks),
      from_(from),
      guard_(config.guard) {
  StartWatch start(*world_, config);
  start.status().enter(0, Phase::start);
  if (from_) {
    options_.checkpoint = &*from_;
    options_.resume = from_->path.string();
  }
  setup_ = std::make_unique<RunSetup>(on_any_gpus(config), options_, silent_);
  start.watch_gpus(*setup_);
  TowerTrainerOptions trainer_options = setup_->trainer_options();
  trainer_options.snapshot = SnapshotChoice::never;
  trainer_options.sample_rows = 0;
  data_ = train_loader(setup_->config, setup_->data, setup_->placement, 2);
  trainer_ = std::make_unique<TowerTrainer>(trainer_options, setup_->placement);
  schedule_.emplace(setup_->config.schedule, setup_->learning_rate(), setup_->total_steps(),
                    setup_->steps_per_epoch());
  if (guard_.judges())
    trainer_->set_judge([this](const StepOutcome& step) { return guard_.problem(step).empty(); });
  trainer_->observe(hooks_.observer);
  lead([&] {
    if (setup_->resumed) {
      trainer_->restore(setup_->resumed->state, setup_->resumed->tensors.get());
      guard_.restore(setup_->resumed->state.guard);
      step_ = setup_->resumed->state.step;
      samples_seen_ = setup_->resumed->state.samples_seen;
    } else {
      load_initial_weights(*setup_, *trainer_, silent_);
    }
    trainer_->set_rejected_steps(guard_.bad_steps());
    int64_t per_epoch = setup_->steps_per_epoch();
    data_->start(step_ / per_epoch, step_ % per_epoch, INT64_MAX);
    if (hooks_.after_step) hooks_.after_step(step_, *trainer_);
  });
}

Replay::~Replay() = default;

void Replay::lead(const std::function<void()>& body) {
  Watch watch(*world_, trainer_->status(), setup_->config);
  trainer_->team().lead(body);
}

const Batch& Replay::batch() {
  if (!batch_) batch_ = &data_->next();
  return *batch_;
}

StepOutcome Replay::next() {
  StepOutcome result;
  lead([&] {
    result = trainer_->step(batch(), step_, schedule_->lr(step_));
    batch_ = nullptr;
    ++step_;
    if (hooks_.after_step) hooks_.after_step(step_, *trainer_);
  });
  samples_seen_ += result.samples;
  metric_ = measure(setup_->metric(), result.loss, result.score);
  left_out_ = !guard_.problem(result).empty();
  if (!left_out_) {
    guard_.accept(result);
    return result;
  }
  bool rolls_back = setup_->config.guard.on_bad_step == GuardConfig::OnBadStep::rollback;
  if (rolls_back &&
      regular_checkpoint_before(setup_->config.checkpoint, setup_->steps_per_epoch(), step_) > 0)
    fail(Category::config, "step {}: the run rolled back here, and a replay cannot go past that",
         step_);
  guard_.skip();
  trainer_->set_rejected_steps(guard_.bad_steps());
  return result;
}

AuditRecord Replay::next_record(bool weights) {
  uint64_t samples = 0;
  lead([&] { samples = samples_hash(*data_, batch()); });
  StepOutcome result = next();
  return audit_record(result, samples, left_out_,
                      weights ? tensor_hashes() : std::vector<uint64_t>());
}

void Replay::inspect(TensorObserver& observer) {
  BothObservers both(hooks_.observer ? *hooks_.observer : observer, observer);
  TensorObserver& all = hooks_.observer ? static_cast<TensorObserver&>(both) : observer;
  lead([&] { trainer_->inspect(batch(), step_, all); });
  trainer_->observe(hooks_.observer);
}

std::vector<int64_t> Replay::samples(int tower) {
  std::vector<int64_t> samples;
  lead([&] {
    const Batch& next = batch();
    int64_t size = setup_->placement.batch_size, first = tower * size;
    for (int64_t row = first; row < std::min(first + size, next.valid); ++row)
      samples.push_back(data_->sample_of(next, row));
  });
  return samples;
}

StateMetadata Replay::metadata() {
  StateMetadata state;
  lead([&] { trainer_->describe(state); });
  state.step = step_;
  state.samples_seen = samples_seen_;
  setup_->describe(state, guard_);
  return state;
}

LoadedCheckpoint Replay::checkpoint() {
  auto copy = std::make_shared<TrainingState>();
  static_cast<StateMetadata&>(*copy) = metadata();
  read_all(state(), *copy);
  return {fmt::format("the replayed step {}", step_), *copy, copy};
}

EvalReport Replay::evaluate(const Dataset& data) {
  EvaluationMetrics metrics = setup_->evaluation_metrics(data);
  auto& loader = evaluated_[&data];
  if (!loader) loader = evaluation_loader(setup_->config, data, setup_->placement);
  EvaluationSums sums;
  lead([&] { sums = metrics.evaluate_all(*trainer_, *loader); });
  return metrics.report(step_, sums, setup_->ranks);
}

const SavedTensors& Replay::state() {
  lead([&] { trainer_->capture_state(); });
  return trainer_->state();
}

}  // namespace spire
