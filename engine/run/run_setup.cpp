#include "engine/run/run_setup.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "engine/base/processor.h"
#include "engine/config/check.h"
#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/data/dataset.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/topology.h"
#include "engine/inference/sample_outputs.h"
#include "engine/run/guard.h"
#include "engine/run/resume.h"
#include "engine/run/run_data.h"
#include "engine/run/run_report.h"
#include "engine/update/schedule.h"

namespace spire {

namespace fs = std::filesystem;

void compare_configs(const RunConfig& config, const RankGroup& ranks) {
  if (!ranks.group()) return;
  std::vector<std::string> all = ranks.all_gather(to_yaml(config));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    // Every rank sees all configs, so that all throw the same error.
    RunConfig first = parse_config({{"rank 0", all[0]}}, {}).config;
    RunConfig other = parse_config({{"this rank", all[rank]}}, {}).config;
    for (const Field& field : schema()) {
      std::string theirs = value_text(field, other), zeros = value_text(field, first);
      if (theirs == zeros) continue;
      throw SymmetricError(
          Category::config,
          fmt::format("{}: {} on rank 0, but {} on rank {}; all ranks need the same config",
                      field.path, zeros, theirs, rank));
    }
  }
}

namespace {

bool gathers_in_snapshot(const RunConfig& config, const Placement& placement) {
  return config.strategy == RunConfig::Strategy::sharded && placement.ranks > 1;
}

// Without an interval a run writes its best and last states alone, and waits for them. A copy
// serves two other ends: ranks gather their shards in it, and it outlasts the swap of averages.
bool gains_from_snapshot(const RunConfig& config, const Placement& placement) {
  bool repeated = config.checkpoint.every_steps > 0 || config.checkpoint.every_epochs > 0;
  return repeated || gathers_in_snapshot(config, placement) || config.ema.decay > 0;
}

SnapshotChoice snapshot_choice(const RunConfig& config, const Placement& placement) {
  using Snapshot = CheckpointConfig::Snapshot;
  if (config.checkpoint.snapshot == Snapshot::always) return SnapshotChoice::always;
  // Where there is no other way than a copy, a run has one, and warns.
  if (gathers_in_snapshot(config, placement)) return SnapshotChoice::fitting;
  bool never = config.checkpoint.snapshot == Snapshot::never;
  return never || !gains_from_snapshot(config, placement) ? SnapshotChoice::never
                                                          : SnapshotChoice::fitting;
}

// Checkpoints tell by the name that no config has this model.
ModelConfig own_model_config(const Model& model) {
  if (!model.layers) fail(Category::config, "RunOptions::model: the model has no layers");
  std::vector<std::string> known = model_names();
  bool taken = std::find(known.begin(), known.end(), model.name) != known.end();
  if (taken || model.name.empty() || model.name == "auto")
    fail(Category::config,
         "RunOptions::model: '{}' is no name for a model of a program; use another", model.name);
  ModelConfig config;
  config.name = model.name;
  return config;
}

// Sleeps so many seconds. Returns false as soon as *stop is true.
bool wait_unless(const std::atomic<bool>* stop, double seconds) {
  constexpr double slice = 0.1;
  for (double left = seconds; left > 0; left -= slice) {
    if (stop && *stop) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, slice)));
  }
  return !stop || !*stop;
}

// Before anything is compiled: the kernel kills what a cgroup has no room for, and libraries crash.
void require_room_for_program() {
  constexpr size_t least = 64 << 20, least_free = 8 << 20;
  HostSpace host = host_space();
  if (host.total >= least && host.free >= least_free) return;
  fail(Category::out_of_memory,
       "{} leaves too little for the program itself, which takes about {} MiB beside a model, and "
       "under ulimit -v about {} MiB; raise that limit",
       host.limited_by, least >> 20, 400);
}

}  // namespace

RunSetup::RunSetup(const RunConfig& given, const RunOptions& options, Observer& observer,
                   ThreadStatus* status)
    : config(given),
      ranks(options.world, status),
      own_model(options.model),
      own_data(options.data != nullptr),
      records_batch(given.batch_size == 0),
      saves(options.dry_run == 0),
      stop_(options.stop) {
  require_processor();
  check_config(config);
  require_room_for_program();
  if (own_model) config.model = own_model_config(*own_model);  // which no config may name
  compare_configs(config, ranks);

  // The checkpoint comes before placement and data: it decides towers, threads and columns.
  ResumePoint found = find_resume_point(config, options, ranks, observer);
  resumed = std::move(found.checkpoint);
  resumed_here = found.in_output;
  if (resumed) {
    keep_settings(*resumed, options, config, observer);
    records_batch = records_batch || split_may_change(config, resumed->state);
  }

  place(options, observer, status);
  warn_of_cuda_versions(placement, observer);
  if (saves && config.checkpoint.snapshot == CheckpointConfig::Snapshot::never &&
      gathers_in_snapshot(config, placement))
    observer.on_warning(
        "checkpoint.snapshot: never: with strategy: sharded the processes bring the state together "
        "in a copy of it, which is made all the same");
  bool chooses = config.batch_size == 0;
  if (!chooses) check_placed();

  model_chosen = config.model.name == "auto";
  data = open_run_data(config, options, placement, resumed ? &*resumed : nullptr, observer);
  check_exact_decisions();
  check_exact_columns();
  choose_metrics();
  if (resumed && !options.evaluates) forget_best_of_others(config, metric(), *resumed, observer);
  if (!options.evaluates)
    teacher =
        open_teacher(config, data.train->spec(), ranks, resumed ? &*resumed : nullptr, observer);

  // A resumed run takes the kernels that its checkpoint records, so that it computes the same bits.
  DeviceKind kind = placement.devices[0].id.kind;
  tuning = open_tuning(config.cuda,
                       {.recorded = resumed ? resumed->state.tuning : "",
                        .gpus = kind == DeviceKind::cuda,
                        .first = ranks.is_first()},
                       observer);
  versions = library_versions(kind);
  if (chooses) choose_batch();
}

void RunSetup::place(const RunOptions& options, Observer& observer, ThreadStatus* status) {
  if (config.cuda.peer == CudaConfig::Peer::direct && peer_access_disabled())
    fail(Category::config,
         "cuda.peer: direct, but NCCL_P2P_DISABLE is set, which keeps GPUs from reading each "
         "other's memory; set cuda.peer: auto, or unset NCCL_P2P_DISABLE");
  std::optional<int> threads;
  if (resumed && !split_may_change(config, resumed->state))
    threads = static_cast<int>(resumed->state.tower_threads);
  // A driver may hang when it is asked for its GPUs. A wait for idle ones is none.
  auto enter = [status, alone = !ranks.group() || ranks.group()->size() == 1](Phase phase) {
    if (status && alone) status->enter(0, phase);
  };
  auto wait = [&](double seconds) {
    bool goes_on = wait_unless(options.stop, seconds);
    enter(Phase::setup);
    return goes_on;
  };
  auto say = [&](std::string_view line) { observer.on_note(line); };
  GpuQueue queue{gpu_claims_, wait, say};
  if (config.max_time > 0 && options.started) {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - *options.started;
    queue.longest = std::max(0.0, config.max_time - passed.count());
  }
  bool chooses = config.batch_size == 0 && !(config.global_batch && config.towers);
  enter(Phase::setup);
  RunPlacement placed = place_run(chooses ? with_any_batch() : config, ranks, threads, queue);
  enter(Phase::start);
  for (const std::string& warning : placed.warnings) observer.on_warning(warning);
  placement = std::move(placed.placement);
  if (placed.precision) config.precision = *placed.precision;
  if (placement.spare > 0 && !resumed)
    placement.note +=
        fmt::format("; towers={} uses all", std::ssize(placement.devices) + placement.spare);
  own_place_ = std::move(placed.own);
  places_ = std::move(placed.places);
  cores = std::move(placed.cores);
  asked_threads_ = config.tower_threads;
  if (!chooses) settle_placed();
}

// The config then holds what the placement has settled, as checkpoints record it.
void RunSetup::settle_placed() {
  config.batch_size = placement.batch_size;
  config.towers = placement.towers;
  config.global_batch = placement.global_batch;
  if (evenly_divided(config)) config.global_batch.reset();  // it follows from the other two
  config.tower_threads = placement.tower_threads;
}

// What a run decides by its loss must not depend on the towers either.
void RunSetup::check_exact_decisions() const {
  bool judged = config.early_stop.patience > 0 || Guard(config.guard).judges();
  bool exact = config.precision == RunConfig::Precision::exact;
  if (exact && judged && (own_model || task() != Task::classify)) {
    fail(
        Category::config,
        "precision: exact sums no losses exactly but the cross entropy of classes, and by the loss "
        "early_stop.patience, guard.loss_zscore or guard.on_bad_step would decide; leave them out");
  }
}

// The gradient of a word's vector is a sum over the samples that have the word.
void RunSetup::check_exact_columns() const {
  if (config.precision != RunConfig::Precision::exact) return;
  for (const TableColumn& column : data.train->spec().table)
    if (column.embedded)
      fail(Category::config,
           "data.csv.categories: embedding learns a vector for each word of column '{}', and "
           "precision: exact has no sums without an order for vectors of words; use "
           "data.csv.categories: one_hot, or precision: fp32",
           column.name);
}

// Keys that fit each other or not only when the number of ranks and the global batch are known.
void RunSetup::check_placed() const {
  if (config.schedule.min_lr > learning_rate()) {
    fail(Category::config,
         "schedule.min_lr: {:.6g} is above the learning rate {:.6g}, to which lr.scaling changes "
         "{:.6g} for a global batch of {}; use a smaller one",
         config.schedule.min_lr, learning_rate(), config.optimizer.lr, placement.global_batch);
  }
}

void RunSetup::take_cores() {
  pin_run(config.pin, ranks, own_place_, placement, cores, core_locks_);
}

void RunSetup::describe(StateMetadata& state, const Guard& guard) const {
  state.epoch = state.step / steps_per_epoch();
  state.step_in_epoch = state.step % steps_per_epoch();
  state.optimizer_steps = state.step - state.skipped_steps - guard.bad_steps();
  state.guard = guard.text();
  state.seed = config.seed;
  state.config_yaml = to_yaml(config);
  state.data_spec = to_text(data.test->spec());
  state.tuning = recorded_text(tuning.get());
  state.versions = versions;
}

void RunSetup::keep_tuning(Observer& observer) const {
  if (tuning && ranks.is_first()) spire::keep_tuning(config.cuda, *tuning, observer);
}

TowerTrainerOptions RunSetup::trainer_options() const {
  return {
      .config = config,
      .own_model = own_model,
      .teacher = teacher.teacher,
      .train_columns = train_columns(config, data),
      .test_columns = data.test->spec().columns,
      .classes = data.train->spec().classes,
      .table = data.train->spec().table,
      .target_scale = data.train->spec().target_scale,
      .exact_batch = config.precision == RunConfig::Precision::exact ? placement.global_batch : 0,
      .train_samples =
          config.data.last_batch == DataConfig::LastBatch::drop ? 0 : data.train->count(),
      .test_samples = data.test->count(),
      .val_samples = data.val ? data.val->count() : 0,
      .sample_rows =
          EvaluationSamples::rows(task(), std::min(config.eval.samples, data.selection().count())),
      .shows_outputs = metrics_.reads_outputs,
      .snapshot = saves ? snapshot_choice(config, placement) : SnapshotChoice::never,
      .judged = Guard(config.guard).judges(),
      .tuning = tuning.get(),
      .watch_lanes = watch_lanes};
}

Task RunSetup::task() const {
  return run_task(config, own_model.get(), data);
}

Metric RunSetup::metric() const {
  switch (task()) {
    case Task::classify:
    case Task::segment:
      return Metric::accuracy;
    case Task::predict_tokens:
      return Metric::perplexity;
    case Task::reconstruct:
      return Metric::psnr;
    case Task::regress:
      return config.loss.name == LossConfig::Name::binary ? Metric::exact_match : Metric::rmse;
    case Task::custom:
      return own_model->metric;
  }
  fail(Category::unexpected, "unknown task");
}

std::unique_ptr<OutputRecords> RunSetup::output_records() const {
  bool labels = config.loss.name == LossConfig::Name::binary;
  const std::vector<std::string>& words = config.eval.metrics;
  auto asked = [&](Metric metric) {
    return config.best.metric == to_string(metric) ||
           std::ranges::find(words, to_string(metric)) != words.end();
  };
  return make_records(task(), labels, data.test->spec(), asked(Metric::auc), asked(Metric::ssim));
}

void RunSetup::choose_metrics() {
  bool asked = !config.eval.metrics.empty() || config.best.metric != "auto";
  std::unique_ptr<OutputRecords> records = asked ? output_records() : nullptr;
  metrics_ = spire::choose_metrics(config, metric(), records.get());
}

EvaluationMetrics RunSetup::evaluation_metrics(const Dataset& evaluated) const {
  return {metrics_, metrics_.records() ? output_records() : nullptr, evaluated};
}

double RunSetup::learning_rate() const {
  return scaled_lr(config.optimizer.lr, config.lr, placement.global_batch);
}

int64_t RunSetup::steps_per_epoch() const {
  return epoch_steps(config, data, placement.global_batch);
}

int64_t RunSetup::total_steps() const {
  return config.steps ? *config.steps : config.epochs * steps_per_epoch();
}

}  // namespace spire
