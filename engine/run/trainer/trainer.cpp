#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>

#include <spire/train.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/config/text.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/thread_status.h"
#include "engine/process/watchdog/watchdog.h"
#include "engine/run/initial/initial_weights.h"
#include "engine/run/run_data.h"
#include "engine/run/trainer/staged_batch.h"
#include "engine/run/trainer/trainer_parts.h"
#include "engine/run/watch.h"
#include "engine/train/failure.h"

namespace spire {
namespace {

RunOptions run_options(const DataSource& data, const TrainerOptions& options, World& world) {
  RunOptions run;
  run.data = data;
  run.model = options.model;
  run.world = &world;
  run.dry_run = 1;  // nothing of the config writes files
  return run;
}

// Called while `error` is caught. Throws what the program's own code threw as it is.
void rethrow_own(const std::exception& error) {
  const auto* lane = dynamic_cast<const LaneError*>(&error);
  if (lane && lane->cause()) std::rethrow_exception(lane->cause());
  if (is_foreign(error)) throw;
}

// As steps take it, in fp32.
bool is_rate(double lr) {
  return std::isfinite(static_cast<float>(lr)) && lr >= 0;
}

}  // namespace

void Trainer::Parts::check_rate(double lr, const char* where) {
  if (!is_rate(lr))
    fail(Category::config, "{}: the learning rate is {}; give a number from 0 on", where,
         unsigned_nan(lr));
}

Trainer::Parts::Parts(const RunConfig& config, const DataSource& source,
                      const TrainerOptions& given, bool can_read, World& in, bool plans)
    : options(given),
      world(in),
      remarks(given.on_remark),
      setup(config, run_options(source, given, in), remarks),
      has_data(can_read),
      schedule(setup.config.schedule, setup.learning_rate(), setup.total_steps(),
               setup.steps_per_epoch()),
      tower(tower_options()),
      guard(setup.config.guard) {
  LaneSpec& first = setup.placement.lanes.front();
  first.on_caller = setup.placement.lanes.size() == 1 && first.threads == 1 &&
                    first.device.kind == DeviceKind::cpu && config.pin != RunConfig::Pin::yes;
  tower.plan_only = plans;
  if (plans) {
    trainer = std::make_unique<TowerTrainer>(tower, setup.placement, world.group.get());
    return;
  }
  batch.emplace(data().columns, setup.placement);
  if (!first.on_caller) setup.take_cores();
  StartWatch start(world, config);
  start.status().enter(0, Phase::start);
  start.watch_gpus(setup);
  tower.watch_lanes = setup.watch_lanes;
  trainer = std::make_unique<TowerTrainer>(tower, setup.placement, world.group.get());
  trainer->set_judge([this](const StepOutcome& outcome) { return guard.problem(outcome).empty(); });
  Watch watch(world, trainer->status(), config);
  trainer->team().lead([&] { load_initial_weights(setup, *trainer, remarks); });
}

std::unique_ptr<Trainer::Parts> Trainer::Parts::make(const RunConfig& config,
                                                     const DataSource& data,
                                                     const TrainerOptions& options, bool has_data,
                                                     bool plans) {
  if (options.predict_rows && *options.predict_rows < 0)
    fail(Category::config, "TrainerOptions::predict_rows: {} is negative", *options.predict_rows);
  if (config.guard.on_bad_step == GuardConfig::OnBadStep::rollback)
    fail(Category::config,
         "guard.on_bad_step: rollback goes back to a run's checkpoints, which a Trainer does not "
         "write; use skip, or stop");
  std::unique_ptr<World> alone;
  if (!options.world)
    alone = join_world({}, {.cores = allowed_cores(), .on_exit_timeout = options.on_exit_timeout});
  World& world = options.world ? *options.world : *alone;
  try {
    auto parts = std::make_unique<Parts>(config, data, options, has_data, world, plans);
    parts->alone = std::move(alone);
    return parts;
  } catch (const std::exception& error) {
    if (world.size() > 1) throw to_error(agree_on_failure(error, PhaseRow(), world));
    rethrow_own(error);
    throw classify(error);
  }
}

int64_t Trainer::Parts::predict_rows() const {
  if (options.predict_rows) return *options.predict_rows;
  return setup.task() == Task::predict_tokens ? 1 : setup.placement.batch_size;
}

TowerTrainerOptions Trainer::Parts::tower_options() const {
  TowerTrainerOptions tower = setup.trainer_options();
  bool drops = setup.config.data.last_batch == DataConfig::LastBatch::drop;
  if (!has_data) {
    tower.train_samples = drops ? 0 : options.train_samples;
    tower.test_samples = options.test_samples;
  }
  tower.any_batch = options.any_batch;
  bool gathers = setup.config.strategy == RunConfig::Strategy::sharded && world.size() > 1;
  tower.snapshot = gathers ? SnapshotChoice::always : SnapshotChoice::never;
  tower.judged = true;
  tower.sample_rows = predict_rows();
  return tower;
}

void Trainer::Parts::check_process() const {
  if (::getpid() != process)
    fail(Category::config,
         "this Trainer belongs to process {}; a child made by fork() has none of its threads: make "
         "one in the child",
         process);
}

Trainer::Parts::Turn::Turn(Parts& parts) {
  parts.check_process();
  std::thread::id none, mine = std::this_thread::get_id();
  if (parts.user.compare_exchange_strong(none, mine)) {
    taken_ = &parts.user;
  } else if (none != mine) {
    fail(Category::config,
         "two threads call this Trainer at once; take turns, by a mutex, or make a Trainer for "
         "each");
  }
}

void Trainer::Parts::lead_guarded(const std::function<void()>& body, const bool& spoils) {
  Turn turn(*this);
  if (spoiled)
    fail(spoiled->category(),
         "an earlier call of this Trainer failed and left no valid state ({}); make a new one and "
         "load() what was saved",
         spoiled->what());
  Watch watch(world, trainer->status(), setup.config);  // between calls nobody waits for the lanes
  try {
    trainer->team().lead(body);
  } catch (const std::exception& error) {
    Error ends = error_of(error, trainer->status().read(0));
    if (spoils || world.size() > 1) spoiled = ends;
    if (world.size() == 1) rethrow_own(error);
    throw ends;
  } catch (...) {
    const Error untold(Category::unexpected, "an exception that is no std::exception");
    Error ends = error_of(untold, trainer->status().read(0));
    if (spoils || world.size() > 1) spoiled = ends;
    if (world.size() > 1) throw ends;
    throw;
  }
}

// A process that trains alone has nobody to tell, and goes on if the program likes.
Error Trainer::Parts::error_of(const std::exception& error, const PhaseRow& at) const {
  return world.size() == 1 ? classify(error) : to_error(agree_on_failure(error, at, world));
}

Trainer::Trainer(const RunConfig& config, const SampleSpec& data, const TrainerOptions& options) {
  check_config_for_batches(config, options);
  parts_ = Parts::make(config, callers_data(data, options), options, false);
}

Trainer::Trainer(const RunConfig& config, const TrainerOptions& options)
    : parts_(Parts::make(config, DataSource(), options, true)) {}

Trainer::Trainer(const RunConfig& config, const DataSource& data, const TrainerOptions& options)
    : parts_(Parts::make(config, data, options, true)) {}

// In a child of fork() there are no threads to end.
Trainer::~Trainer() {
  if (parts_ && ::getpid() != parts_->process) static_cast<void>(parts_.release());
}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&& other) noexcept {
  Trainer ends(std::move(other));
  std::swap(parts_, ends.parts_);
  return *this;
}

const RunConfig& Trainer::config() const {
  return parts_->setup.config;
}
std::vector<std::string> Trainer::devices() const {
  std::vector<std::string> names;
  for (const PlacedDevice& device : parts_->setup.placement.devices)
    names.push_back(to_string(device.id));
  return names;
}
const SampleSpec& Trainer::data() const {
  return parts_->data();
}
int64_t Trainer::global_batch() const {
  return parts_->setup.placement.global_batch;
}
int64_t Trainer::steps_done() const {
  return parts_->done;
}

StepResult Trainer::step(const Samples& samples, std::optional<double> lr) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_no_gradients("step()");
  if (lr) Parts::check_rate(*lr, "step()");
  const Batch& batch = p.fill(samples, "step()");
  StepOutcome outcome;
  p.guarded(
      [&] { outcome = p.trainer->step(batch, p.done, lr.value_or(p.schedule.lr(p.done)), false); });
  p.take(outcome);
  return p.result_of(outcome);
}

const Batch& Trainer::Parts::fill(const Samples& samples, const char* method) {
  if (tower.train_columns.size() != data().columns.size())
    fail(Category::config,
         "{}: data.augment mixes the samples of datasets; use fit(), or set mixup and cutmix to 0",
         method);
  check_count(samples.count, tower.train_samples, "train_samples");
  return batch->fill(checked(samples), 0, samples.count);
}

// The judge has kept a bad step from the weights, on all processes alike: it leaves a valid state.
void Trainer::Parts::take(const StepOutcome& outcome, const Batch* loaded) {
  std::string problem = guard.problem(outcome);
  const GuardConfig& config = setup.config.guard;
  if (!problem.empty()) {
    bool stops = config.on_bad_step == GuardConfig::OnBadStep::stop;
    const Batch rows = loaded ? *loaded : batch->on_host();
    auto sample_of = [&](int64_t row) { return loaded ? train_data->sample_of(rows, row) : row; };
    std::string number = non_finite_number(tower.train_columns, rows, batch->rows(), sample_of);
    if (!number.empty()) problem += fmt::format("; {}", number);
    if (stops || guard.in_row() >= config.max_skips)
      fail(Category::diverged, "step {}{}: {}; it changed nothing; {}", outcome.step,
           stops ? "" : fmt::format(" ({} in a row)", counted(config.max_skips + 1, "bad step")),
           problem,
           number.empty() ? "lower the learning rate, or set optimizer.clip_norm"
                          : "leave such samples out, or mend them");
    guard.skip();
    trainer->set_rejected_steps(guard.bad_steps());
    remarks.on_warning(fmt::format("step {} is left out: {}", outcome.step, problem));
  } else {
    guard.accept(outcome);
  }
  ++done;
  samples_seen += outcome.samples;
}

StepResult Trainer::Parts::result_of(const StepOutcome& outcome) const {
  return {.step = outcome.step,
          .samples = outcome.samples,
          .lr = outcome.lr,
          .loss = outcome.loss,
          .metric = measure(setup.metric(), outcome.loss, outcome.score),
          .grad_norm = outcome.grad_norm,
          .loss_scale = outcome.loss_scale,
          .skipped = outcome.skipped || outcome.rejected,
          .times = outcome.times};
}

EvaluationResult Trainer::Parts::result_of(const EvaluationSums& sums) const {
  return {sums.mean_loss(), sums.measured(setup.metric()), sums.samples};
}

EvaluationResult Trainer::evaluate(const Samples& samples) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_no_gradients("evaluate()");
  int64_t global = global_batch();
  if (samples.count < 1) fail(Category::config, "Samples: there are none to evaluate");
  if (p.tower.test_columns != p.data().columns)
    fail(Category::config,
         "evaluate(): evaluations read images of another size (data.image.eval_size) than "
         "Samples has; use evaluate() without samples");
  p.check_count((samples.count - 1) % global + 1, p.tower.test_samples, "test_samples");
  std::vector<GivenRows> given = p.checked(samples);
  EvaluationSums sums;
  p.guarded([&] {
    p.trainer->begin_evaluation();
    for (int64_t first = 0; first < samples.count; first += global)
      p.trainer->evaluate(p.batch->fill(given, first, std::min(global, samples.count - first)),
                          sums);
    p.trainer->end_evaluation();
  });
  return p.result_of(sums);
}

EvaluationResult Trainer::evaluate() {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_data("evaluate()");
  p.need_no_gradients("evaluate()");
  return p.evaluate_test_data();
}

// A sample that cannot be read ends the evaluation. Several processes end with it, so that none
// waits here for the others.
const Batch& Trainer::Parts::next_to_evaluate(bool& spoils) {
  try {
    return test_data->next();
  } catch (...) {
    if (world.size() == 1) {
      trainer->end_evaluation();
      spoils = false;
    }
    throw;
  }
}

EvaluationResult Trainer::Parts::evaluate_test_data() {
  if (!test_data) test_data = evaluation_loader(setup.config, *setup.data.test, setup.placement);
  EvaluationSums sums;
  bool spoils = false;
  guarded(
      [&] {
        test_data->start(0, 0, 1);
        spoils = true;
        trainer->begin_evaluation();
        while (!test_data->finished()) trainer->evaluate(next_to_evaluate(spoils), sums);
        trainer->end_evaluation();
      },
      spoils);
  return result_of(sums);
}

namespace {

struct FitMark {
  explicit FitMark(bool& in) : in_fit(in) { in_fit = true; }
  ~FitMark() { in_fit = false; }
  FitMark(const FitMark&) = delete;
  FitMark& operator=(const FitMark&) = delete;
  bool& in_fit;
};

}  // namespace

// The loop is on the caller's thread, and each step on the leading lane: a callback may call any
// method. Several processes end together: a step carries the wish of each to all.
EvaluationResult Trainer::fit(const FitOptions& options) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_data("fit()");
  p.need_no_gradients("fit()");
  if (p.in_fit)
    fail(Category::config, "fit(): called by a callback of fit(), which goes on by itself");
  FitMark mark(p.in_fit);
  if (options.steps && *options.steps < 0)
    fail(Category::config, "FitOptions::steps: {} is negative", *options.steps);
  if (!p.train_data)
    p.train_data = train_loader(p.setup.config, p.setup.data, p.setup.placement, 1);
  int64_t per_epoch = p.setup.steps_per_epoch();
  int64_t end = options.steps ? p.done + *options.steps : p.setup.total_steps();
  bool alone = p.world.size() == 1, wants_end = false, ends = false;
  std::exception_ptr thrown;
  auto call = [&](const auto& callback, const auto&... results) {
    if (!callback || thrown) return;
    try {
      wants_end = !callback(results...) || wants_end;
    } catch (...) {
      thrown = std::current_exception();
      wants_end = true;
    }
  };
  EvaluationResult last;
  int64_t loaded = -1;            // the step for which the loader has the next batch
  auto check_end_of_step = [&] {  // a callback may have begun one
    if (!p.has_gradients) return;
    p.train_data->stop();
    if (thrown) std::rethrow_exception(thrown);
    p.need_no_gradients("fit()");
  };
  while (p.done < end && !ends) {
    wants_end = wants_end || (options.stop && options.stop->load());
    if (alone && wants_end) break;
    // A callback that trains or loads moves the run to another step.
    if (loaded != p.done)
      p.train_data->start(p.done / per_epoch, p.done % per_epoch, end / per_epoch + 1);
    StepOutcome outcome;
    double lr = options.lr ? options.lr(p.done) : p.schedule.lr(p.done);
    if (!is_rate(lr)) p.guarded([&] { Parts::check_rate(lr, "FitOptions::lr"); }, false);
    bool spoils = false;  // a sample that cannot be read
    const Batch* batch = nullptr;
    p.guarded(
        [&] {
          batch = &p.train_data->next();
          spoils = true;
          outcome = p.trainer->step(*batch, p.done, lr, wants_end);
        },
        spoils);
    p.take(outcome, batch);
    loaded = p.done;
    ends = outcome.stop;
    call(options.on_step, p.result_of(outcome));
    check_end_of_step();
    if ((p.done % per_epoch != 0 && p.done != end) || (alone && wants_end)) continue;
    last = p.evaluate_test_data();
    call(options.on_epoch, (p.done + per_epoch - 1) / per_epoch, last);
    check_end_of_step();
  }
  p.train_data->stop();
  if (thrown) std::rethrow_exception(thrown);
  return last;
}

// Towers take whole batches, and one of them the rest of the last batch of `all` samples.
void Trainer::Parts::check_count(int64_t count, int64_t all, const char* option) const {
  int64_t global = setup.placement.global_batch;
  if (count == global || (count > 0 && count == all % global)) return;
  if (options.any_batch && 0 < count && count < global) return;
  if (count < 1) fail(Category::config, "Samples: count is {}; it is the number of rows", count);
  if (count > global)
    fail(Category::config,
         "Samples: a batch of {}, but the global batch is {}; raise batch_size, or give the rows "
         "in several batches",
         count, global);
  fail(Category::config,
       "Samples: a batch of {}, but the global batch is {} ({} towers of {}{}); for a smaller last "
       "batch of an epoch set TrainerOptions::{}, for smaller ones any_batch",
       count, global, setup.placement.towers,
       global % setup.placement.batch_size == 0 ? "" : "at most ", setup.placement.batch_size,
       option);
}

std::vector<GivenRows> Trainer::Parts::checked(const Samples& samples) const {
  std::vector<GivenRows> given = given_rows(data(), samples);
  for (size_t c = 0; c < given.size(); ++c) {
    check_indices(data(), data().columns[c], given[c], samples.count);
    if (setup.config.loss.name == LossConfig::Name::binary)
      check_binary(data().columns[c], given[c], samples.count);
  }
  return given;
}

void Trainer::Parts::need_data(const char* method) const {
  if (!has_data)
    fail(Category::config, "{}: this Trainer has no datasets; make it with a DataSource", method);
}

}  // namespace spire
