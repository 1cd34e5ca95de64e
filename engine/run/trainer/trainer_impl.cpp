#include "engine/run/trainer/trainer_impl.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include <malloc.h>

#include <spire/error.h>
#include <spire/train.h>

#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/config/text.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"
#include "engine/run/initial/initial_weights.h"
#include "engine/run/resume.h"
#include "engine/run/run_data.h"
#include "engine/run/trainer/callers_data.h"
#include "engine/run/watchdog_limits.h"
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

// As steps take it, in fp32.
bool is_rate(double lr) {
  return std::isfinite(static_cast<float>(lr)) && lr >= 0;
}

void check_rate(double lr, const char* where) {
  if (!is_rate(lr))
    fail(Category::config, "{}: the learning rate is {}; give a number from 0 on", where,
         unsigned_nan(lr));
}

// Watches the lanes' phases while a call is under way: between calls nobody waits for them.
class Watch {
 public:
  Watch(World& world, const ThreadStatus& status, const RunConfig& config)
      : world_(world), limits_(watchdog_limits(config, world)) {
    world_.watchdog->watch(&status, limits_);
  }
  ~Watch() { world_.watchdog->watch(nullptr, limits_); }

 private:
  World& world_;
  WatchdogLimits limits_;
};

}  // namespace

Trainer::Impl::Impl(const RunConfig& config, const DataSource& data, const TrainerOptions& options,
                    bool has_data, World& world)
    : options_(options),
      world_(world),
      remarks_(options.on_remark),
      setup_(config, run_options(data, options, world), remarks_),
      has_data_(has_data),
      schedule_(setup_.config.schedule, setup_.learning_rate(), setup_.total_steps(),
                setup_.steps_per_epoch()),
      batch_(setup_.data.train->spec().columns, setup_.placement),
      tower_(tower_options()),
      guard_(setup_.config.guard) {
  setup_.take_cores();
  trainer_ = std::make_unique<TowerTrainer>(tower_, setup_.placement, world_.group.get());
  trainer_->set_judge([this](const StepOutcome& step) { return guard_.problem(step).empty(); });
  trainer_->team().lead([&] { load_initial_weights(setup_, *trainer_, remarks_); });
}

int64_t Trainer::Impl::predict_rows() const {
  if (options_.predict_rows) return *options_.predict_rows;
  return setup_.task() == Task::predict_tokens ? 1 : setup_.placement.batch_size;
}

TowerTrainerOptions Trainer::Impl::tower_options() const {
  TowerTrainerOptions tower = setup_.trainer_options();
  bool drops = setup_.config.data.last_batch == DataConfig::LastBatch::drop;
  if (!has_data_) {
    tower.train_samples = drops ? 0 : options_.train_samples;
    tower.test_samples = options_.test_samples;
  }
  bool gathers = setup_.config.strategy == RunConfig::Strategy::sharded && world_.size() > 1;
  tower.snapshot = gathers ? SnapshotChoice::always : SnapshotChoice::never;
  tower.judged = true;
  tower.sample_rows = predict_rows();
  return tower;
}

// Runs `body` on the leading lane. All processes end with the same error. spoils: whether one that
// a process meets alone leaves no valid state, which `body` may set; those that end several always
// do.
template <typename Body>
void Trainer::Impl::guarded(const Body& body, const bool& spoils) {
  if (spoiled_)
    fail(spoiled_->category(),
         "an earlier call of this Trainer failed and left no valid state ({}); make a new one and "
         "load() what was saved",
         spoiled_->what());
  Watch watch(world_, trainer_->status(), setup_.config);
  try {
    trainer_->team().lead([&] { body(); });
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    bool alone = known && world_.size() == 1;  // no one else has to know
    Error ends =
        alone ? *known : to_error(settle_failure(error, trainer_->status().read(0), world_));
    if (spoils || world_.size() > 1) spoiled_ = ends;
    throw ends;
  }
}

std::vector<TrainerMemory> Trainer::Impl::memory() const {
  auto total = [](const MemoryByKind& kinds) {
    int64_t bytes = 0;
    for (const auto& [kind, of_kind] : kinds) bytes += of_kind;
    return bytes;
  };
  std::vector<MemoryByKind> in_use = trainer_->memory_in_use(), peak = trainer_->peak_memory();
  auto first = static_cast<size_t>(setup_.placement.devices_of(setup_.placement.rank).begin);
  std::vector<TrainerMemory> memory;
  for (size_t d = 0; d < in_use.size(); ++d)
    memory.push_back({to_string(setup_.placement.devices[first + d].id), total(in_use[d]),
                      total(peak[d]), in_use[d]});
  return memory;
}

// Steps and evaluations have ended when their calls return, so nobody reads the loaders' batches.
void Trainer::Impl::release_memory() {
  train_data_.reset();
  test_data_.reset();
  ::malloc_trim(0);
}

StepResult Trainer::Impl::step(const Samples& samples, std::optional<double> lr) {
  if (tower_.train_columns.size() != data().columns.size())
    fail(Category::config,
         "step(): data.augment mixes the samples of datasets; use fit(), or set mixup and cutmix "
         "to 0");
  check_count(samples.count, tower_.train_samples, "train_samples");
  check(samples);
  if (lr) check_rate(*lr, "step()");
  const Batch& batch = batch_.fill(samples, 0, samples.count);
  StepOutcome outcome;
  guarded([&] { outcome = trainer_->step(batch, done_, lr.value_or(schedule_.lr(done_)), false); });
  take(outcome);
  return result_of(outcome);
}

// The judge has kept a bad step from the weights, on all processes alike: it leaves a valid state.
void Trainer::Impl::take(const StepOutcome& outcome) {
  std::string problem = guard_.problem(outcome);
  const GuardConfig& config = setup_.config.guard;
  if (!problem.empty()) {
    bool stops = config.on_bad_step == GuardConfig::OnBadStep::stop;
    if (stops || guard_.in_row() >= config.max_skips)
      fail(Category::diverged,
           "step {}{}: {}; it changed nothing; lower the learning rate, or set "
           "optimizer.clip_norm",
           outcome.step,
           stops ? "" : fmt::format(" ({} in a row)", counted(config.max_skips + 1, "bad step")),
           problem);
    guard_.skip();
    trainer_->set_rejected_steps(guard_.bad_steps());
    remarks_.on_warning(fmt::format("step {} is left out: {}", outcome.step, problem));
  } else {
    guard_.accept(outcome);
  }
  ++done_;
  samples_seen_ += outcome.samples;
}

StepResult Trainer::Impl::result_of(const StepOutcome& outcome) const {
  return {.step = outcome.step,
          .samples = outcome.samples,
          .lr = outcome.lr,
          .loss = outcome.loss,
          .metric = measure(setup_.metric(), outcome.loss, outcome.score),
          .grad_norm = outcome.grad_norm,
          .loss_scale = outcome.loss_scale,
          .skipped = outcome.skipped || outcome.rejected,
          .times = outcome.times};
}

EvaluationResult Trainer::Impl::result_of(const EvaluationSums& sums) const {
  return {sums.mean_loss(), sums.measured(setup_.metric()), sums.samples};
}

EvaluationResult Trainer::Impl::evaluate(const Samples& samples) {
  int64_t global = global_batch();
  if (samples.count < 1) fail(Category::config, "Samples: there are none to evaluate");
  check_count((samples.count - 1) % global + 1, tower_.test_samples, "test_samples");
  check(samples);
  EvaluationSums sums;
  guarded([&] {
    trainer_->begin_evaluation();
    for (int64_t first = 0; first < samples.count; first += global)
      trainer_->evaluate(batch_.fill(samples, first, std::min(global, samples.count - first)),
                         sums);
    trainer_->end_evaluation();
  });
  return result_of(sums);
}

EvaluationResult Trainer::Impl::evaluate() {
  need_data("evaluate()");
  return evaluate_test_data();
}

// A sample that cannot be read ends the evaluation. Several processes end with it, so that none
// waits here for the others.
const Batch& Trainer::Impl::next_to_evaluate(bool& spoils) {
  try {
    return test_data_->next();
  } catch (...) {
    if (world_.size() == 1) {
      trainer_->end_evaluation();
      spoils = false;
    }
    throw;
  }
}

EvaluationResult Trainer::Impl::evaluate_test_data() {
  if (!test_data_)
    test_data_ = evaluation_loader(setup_.config, *setup_.data.test, setup_.placement);
  EvaluationSums sums;
  bool spoils = false;
  guarded(
      [&] {
        test_data_->start(0, 0, 1);
        spoils = true;
        trainer_->begin_evaluation();
        while (!test_data_->finished()) trainer_->evaluate(next_to_evaluate(spoils), sums);
        trainer_->end_evaluation();
      },
      spoils);
  return result_of(sums);
}

// The loop is on the caller's thread, and each step on the leading lane: a callback may call any
// method. Several processes end together: a step carries the wish of each to all.
EvaluationResult Trainer::Impl::fit(const FitOptions& options) {
  need_data("fit()");
  if (options.steps && *options.steps < 0)
    fail(Category::config, "FitOptions::steps: {} is negative", *options.steps);
  if (!train_data_) train_data_ = train_loader(setup_.config, setup_.data, setup_.placement, 1);
  int64_t per_epoch = setup_.steps_per_epoch();
  int64_t end = options.steps ? done_ + *options.steps : setup_.total_steps();
  bool alone = world_.size() == 1, wants_end = false, ends = false;
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
  int64_t loaded = -1;  // the step for which the loader has the next batch
  while (done_ < end && !ends) {
    wants_end = wants_end || (options.stop && options.stop->load());
    if (alone && wants_end) break;
    // A callback that trains or loads moves the run to another step.
    if (loaded != done_)
      train_data_->start(done_ / per_epoch, done_ % per_epoch, end / per_epoch + 1);
    StepOutcome outcome;
    double lr = options.lr ? options.lr(done_) : schedule_.lr(done_);
    if (!is_rate(lr)) guarded([&] { check_rate(lr, "FitOptions::lr"); }, false);
    bool spoils = false;  // a sample that cannot be read
    guarded(
        [&] {
          const Batch& batch = train_data_->next();
          spoils = true;
          outcome = trainer_->step(batch, done_, lr, wants_end);
        },
        spoils);
    take(outcome);
    loaded = done_;
    ends = outcome.stop;
    call(options.on_step, result_of(outcome));
    if ((done_ % per_epoch != 0 && done_ != end) || (alone && wants_end)) continue;
    last = evaluate_test_data();
    call(options.on_epoch, (done_ + per_epoch - 1) / per_epoch, last);
  }
  train_data_->stop();
  if (thrown) std::rethrow_exception(thrown);
  return last;
}

Shape Trainer::Impl::output_shape() const {
  if (predict_rows() == 0 || !setup_.ranks.is_first())
    fail(Category::config,
         "output_shape(): only rank 0 knows it, with TrainerOptions::predict_rows");
  return Shape(trainer_->sampler()->output_shape().dims().subspan(1));
}

std::vector<float> Trainer::Impl::predict(const ColumnRows& rows, int64_t count) {
  if (predict_rows() == 0) fail(Category::config, "predict(): TrainerOptions::predict_rows is 0");
  if (rows.data == nullptr || count < 1) fail(Category::config, "predict(): there are no rows");
  const Column& column = data().columns.front();
  check_rows(column, rows, count);
  auto row = static_cast<int64_t>(given_size(column.dtype)) * column.shape.elements();
  if (count > std::numeric_limits<ptrdiff_t>::max() / row)
    fail(Category::config, "predict(): no memory holds {} rows", count);
  check_indices(data(), rows.data, count);
  std::vector<float> outputs;
  guarded([&] {
    trainer_->begin_evaluation();
    if (setup_.ranks.is_first())
      predict_batches(static_cast<const std::byte*>(rows.data), count, outputs);
    trainer_->end_evaluation();
  });
  return outputs;
}

void Trainer::Impl::predict_batches(const std::byte* rows, int64_t count,
                                    std::vector<float>& outputs) {
  const Column& column = setup_.data.train->spec().columns.front();
  ForwardPass& pass = *trainer_->sampler();
  int64_t at_once = predict_rows(), row = column.shape.elements();
  int64_t width = pass.output_shape().elements() / at_once;
  std::vector<std::byte> batch(static_cast<size_t>(at_once) * column.row_bytes());
  outputs.resize(static_cast<size_t>(count * width));
  for (int64_t first = 0; first < count; first += at_once) {
    int64_t part = std::min(at_once, count - first);
    copy_numbers(rows + static_cast<size_t>(first * row) * given_size(column.dtype), part * row,
                 column.dtype, batch.data());
    pass.run(batch.data());
    pass.copy_output(std::span(outputs).subspan(static_cast<size_t>(first * width),
                                                static_cast<size_t>(part * width)));
  }
}

std::vector<WeightInfo> Trainer::Impl::weights() const {
  std::vector<WeightInfo> infos;
  for (const ParameterEntry& entry : trainer_->layout().entries())
    if (!entry.teacher) infos.push_back({entry.name, entry.shape, entry.trained()});
  std::sort(infos.begin(), infos.end(),
            [](const WeightInfo& a, const WeightInfo& b) { return a.name < b.name; });
  return infos;
}

void Trainer::Impl::read_weight(const std::string& name, std::span<float> values) {
  const ParameterEntry& entry = find(name, values.size());
  guarded([&] { trainer_->read_weight(entry, values); });
}

void Trainer::Impl::write_weight(const std::string& name, std::span<const float> values) {
  const ParameterEntry& entry = find(name, values.size());
  guarded([&] { trainer_->write_weight(entry, values); });
}

uint64_t Trainer::Impl::parameter_hash() {
  uint64_t hash = 0;
  guarded([&] { hash = trainer_->parameter_hash(); });
  return hash;
}

// The broadcast ends the call on all ranks when the file is there.
void Trainer::Impl::save(const std::filesystem::path& file) {
  guarded(
      [&] {
        trainer_->capture_state();
        if (setup_.ranks.is_first()) {
          StateMetadata state;
          trainer_->describe(state);
          describe(state);
          write_checkpoint(file, state, trainer_->state(), trainer_->piece());
        }
        if (setup_.ranks.group()) setup_.ranks.broadcast("saved");
      },
      false);
}

void Trainer::Impl::load(const std::filesystem::path& file) {
  std::optional<CheckpointFile> checkpoint;
  guarded(
      [&] {
        checkpoint.emplace(file);
        if (auto warning = unchecked_warning(file, checkpoint->checked()))
          remarks_.on_warning(*warning);
        check_loaded(checkpoint->metadata(), file);
      },
      false);
  guarded([&] { trainer_->restore(checkpoint->metadata(), &*checkpoint); });
  const StateMetadata& state = checkpoint->metadata();
  done_ = state.step;
  samples_seen_ = state.samples_seen;
  guard_ = Guard(setup_.config.guard);
  guard_.restore(state.guard);
  trainer_->set_rejected_steps(guard_.bad_steps());
}

// Another seed or batch would be another run.
void Trainer::Impl::check_loaded(const StateMetadata& state,
                                 const std::filesystem::path& file) const {
  auto compare = [&](const char* key, auto mine, auto saved) {
    if (mine == saved) return;
    fail(Category::config,
         "{}: {}, but {} was saved with {}; use the same, or begin a new run from its weights by "
         "init.from",
         key, mine, file.string(), saved);
  };
  compare("seed", setup_.config.seed, state.seed);
  compare("global_batch", global_batch(), recorded_global_batch(state));
  if (split_may_change(setup_.config, state)) return;
  compare("towers", setup_.placement.towers, state.towers);
  compare("batch_size", setup_.placement.batch_size, state.batch_size);
  if (setup_.placement.devices[0].id.kind == DeviceKind::cpu)
    compare("tower_threads", int64_t{setup_.placement.tower_threads}, state.tower_threads);
}

// Towers take whole batches, and one of them the rest of the last batch of `all` samples.
void Trainer::Impl::check_count(int64_t count, int64_t all, const char* option) const {
  int64_t global = global_batch();
  if (count == global || (count > 0 && count == all % global)) return;
  fail(Category::config,
       "Samples: a batch of {}, but the global batch is {} ({} towers of {}{}); for a smaller last "
       "batch of an epoch set TrainerOptions::{}",
       count, global, setup_.placement.towers,
       global % setup_.placement.batch_size == 0 ? "" : "at most ", setup_.placement.batch_size,
       option);
}

void Trainer::Impl::check(const Samples& samples) const {
  batch_.check(samples);
  check_indices(setup_.data.train->spec(), samples);
  if (setup_.config.loss.name == LossConfig::Name::binary)
    check_binary(setup_.data.train->spec(), samples);
}

void Trainer::Impl::need_data(const char* method) const {
  if (!has_data_)
    fail(Category::config, "{}: this Trainer has no datasets; make it with a DataSource", method);
}

const ParameterEntry& Trainer::Impl::find(const std::string& name, size_t values) const {
  const std::vector<ParameterEntry>& entries = trainer_->layout().entries();
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const ParameterEntry& known) {
    return known.name == name && !known.teacher;
  });
  if (entry == entries.end())
    fail(Category::config, "the model has no weight '{}'; weights() lists them", name);
  if (static_cast<int64_t>(values) != entry->elements())
    fail(Category::config, "weight '{}' is {}, which are {} numbers, not {}", name,
         to_string(entry->shape), entry->elements(), values);
  return *entry;
}

void Trainer::Impl::describe(StateMetadata& state) const {
  int64_t per_epoch = setup_.steps_per_epoch();
  state.step = done_;
  state.samples_seen = samples_seen_;
  state.epoch = done_ / per_epoch;
  state.step_in_epoch = done_ % per_epoch;
  state.optimizer_steps = done_ - state.skipped_steps - guard_.bad_steps();
  state.guard = guard_.text();
  setup_.describe(state);
}

}  // namespace spire
