#include "engine/run/run_setup.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/ranges.h>

#include "engine/checkpoint/checkpoint_metadata.h"
#include "engine/checkpoint/named_checkpoint.h"
#include "engine/config/check.h"
#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/data/schema_compatibility.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/host_memory.h"
#include "engine/inference/samples.h"
#include "engine/observe/units.h"
#include "engine/optim/schedule.h"
#include "engine/run/task_text.h"
#include "engine/train/pin_lanes.h"

namespace spire::inline run {

namespace fs = std::filesystem;

namespace {

SnapshotChoice snapshot_choice(const RunConfig& config) {
  using Snapshot = CheckpointConfig::Snapshot;
  if (config.checkpoint.snapshot == Snapshot::always) return SnapshotChoice::always;
  return config.checkpoint.snapshot == Snapshot::never ? SnapshotChoice::never
                                                       : SnapshotChoice::fitting;
}

struct DeviceMemoryPlan {
  int64_t limit = 0;  // 0: none
  MemoryByKind planned;
};

// Of the devices of all ranks, in device order: a line a device on the way.
std::vector<DeviceMemoryPlan> memory_of_all(const Trainer& trainer, ProcessGroup* group) {
  std::vector<DeviceMemoryPlan> mine, all;
  std::vector<MemoryByKind> planned = trainer.planned_memory();
  auto limits = trainer.memory_limits();
  for (size_t d = 0; d < planned.size(); ++d)
    mine.push_back({static_cast<int64_t>(limits[d].value_or(0)), planned[d]});
  if (!group) return mine;
  std::string lines;
  for (const auto& [limit, kinds] : mine) {
    lines += fmt::format("{} ", limit);
    for (const auto& [kind, bytes] : kinds) lines += fmt::format("{} {} ", kind, bytes);
    lines += '\n';
  }
  std::istringstream text(fmt::format("{}", fmt::join(all_gather(*group, lines), "")));
  for (std::string line, kind; std::getline(text, line);) {
    std::istringstream words(line);
    words >> all.emplace_back().limit;
    for (int64_t bytes = 0; words >> kind >> bytes;) all.back().planned.emplace_back(kind, bytes);
  }
  return all;
}

}  // namespace

RunSetup::RunSetup(const RunConfig& given, const RunOptions& options, Observer& observer,
                   ThreadStatus* board)
    : config(given), world_(options.world), board_(board), saves_(options.dry_run == 0) {
  check_config(config);
  compare_configs();
  if (options.dry_run == 0 && options.resume && rank_zero()) find_checkpoint(options, observer);
  share_checkpoint();
  if (options.overwrite && (resumed_here_ || options.resume == "auto")) {
    fail(Category::config,
         "--overwrite deletes the run from which --resume continues; give only one of them");
  }
  if (resumed) keep_meaning(options);
  place();
  tell_doubts(observer);
  if (config.checkpoint.snapshot == CheckpointConfig::Snapshot::never &&
      config.strategy == RunConfig::Strategy::sharded && placement.ranks > 1) {
    fail(Category::config,
         "checkpoint.snapshot: never, but with strategy: sharded the processes bring the state "
         "together in a snapshot; set checkpoint.snapshot: auto, or another strategy");
  }
  if (config.schedule.min_lr > learning_rate()) {
    fail(Category::config,
         "schedule.min_lr: {:.6g} is above the learning rate {:.6g}, to which lr.scaling changes "
         "{:.6g} for a global batch of {}; use a smaller one",
         config.schedule.min_lr, learning_rate(), config.optimizer.lr, placement.global_batch());
  }
  using Normalize = DataConfig::Normalize;
  if (config.data.normalize == Normalize::automatic)
    config.data.normalize = makes_images(config.model) ? Normalize::unit : Normalize::standard;
  data = open_dataset(
      config.data,
      {.dtype = compute_dtype(config), .seed = config.seed, .cores = placement.helper_cores});
  tell_notes(observer);
  if (resumed) keep_data_meaning();
  tell_notes(observer);
  settle_model(observer);
  if (task() == Task::reconstruct && config.data.normalize != Normalize::unit) {
    fail(Category::config,
         "data.normalize: {} does not fit a model that makes images, whose pixels are from 0 to 1; "
         "use unit",
         word_of(config.data.normalize));
  }
  if (steps_per_epoch() == 0) {
    fail(Category::config,
         "data.last_batch: drop leaves no batch: the dataset has {} samples, fewer than one global "
         "batch of {}; lower batch_size, or use weighted",
         data.train->count(), placement.global_batch());
  }
  tuning = open_tuning(config.cuda,
                       {.recorded = resumed ? resumed->state.tuning : "",
                        .gpus = placement.devices[0].id.kind == DeviceKind::cuda,
                        .first = rank_zero()},
                       observer);
  versions = library_versions(placement.devices[0].id.kind);
}

void RunSetup::keep_tuning(Observer& observer) const {
  if (tuning && rank_zero()) spire::keep_tuning(config.cuda, *tuning, observer);
}

void RunSetup::wait(const std::function<void()>& wait) const {
  board_ ? board_->wait(0, wait) : wait();
}

// All ranks compute with the same words; the first that differs is named.
void RunSetup::compare_configs() const {
  if (!group()) return;
  std::vector<std::string> all;
  wait([&] { all = all_gather(*group(), to_yaml(config)); });
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    RunConfig first = parse_config({{"rank 0", all[0]}}, {}).config;
    RunConfig other = parse_config({{"this rank", all[rank]}}, {}).config;
    for (const Field& field : schema()) {
      std::string theirs = value_text(field, other), zeros = value_text(field, first);
      if (theirs == zeros) continue;
      throw SymmetricError(
          Category::config,
          fmt::format("{}: {} on rank 0, but {} on rank {}; start all ranks with the same config",
                      field.path, zeros, theirs, rank));
    }
  }
}

std::vector<RankPlace> RunSetup::gather_places(const RankPlace& own) const {
  std::vector<std::string> all;
  wait([&] { all = all_gather(*group(), limits_to_text(own.limits) + "\n" + gpus_to_text(own)); });
  std::vector<RankPlace> ranks;
  for (const RankInfo& info : world_->ranks) {
    RankPlace& place = ranks.emplace_back(RankPlace{info.host, info.cores, {}, ""});
    const std::string& text = all[static_cast<size_t>(info.rank)];
    size_t line = text.find('\n');
    place.limits = read_limits(text.substr(0, line));
    read_gpus(text.substr(line + 1), place);
    if (info.rank != world_->rank()) continue;
    place.machine_cores = own.machine_cores;
    place.near_gpu = own.near_gpu;
  }
  return ranks;
}

void RunSetup::place() {
  std::vector<RankPlace> ranks = {own_place()};
  if (group()) ranks = gather_places(ranks[0]);
  std::optional<int> threads;
  if (resumed) threads = static_cast<int>(resumed->state.tower_threads);
  ranks = share_out(ranks);
  int rank = world_ ? world_->rank() : 0;
  placement = place_towers(config, ranks, rank, threads);
  place_ = ranks[static_cast<size_t>(rank)];
  cores_text_ = describe_use(placement, place_);
  for (const LaneSpec& lane : placement.lanes) expect_precision(lane.device, compute_dtype(config));
  config.batch_size = placement.batch_size;
  config.towers = placement.towers;
  config.tower_threads = placement.tower_threads;
}

void RunSetup::take_cores() {
  cores_text_ += ", " + pin_lanes(config.pin, place_, placement, core_locks_);
  if (!group()) return;
  std::vector<std::string> all;
  wait([&] { all = all_gather(*group(), cores_text_); });
  cores_text_ = describe_ranks(all);
}

void RunSetup::tell_doubts(Observer& observer) const {
  if (placement.lanes[0].device.kind == DeviceKind::cpu) return;  // opens no library of GPUs
  auto found = cuda_versions();
  if (!found) return;
  for (const std::string& doubt : version_doubts(*found)) observer.on_warning(doubt);
}

// What rank 0 found, without the tensors: "<here> <path>", the bytes of the data's description,
// that description, then the metadata.
void RunSetup::share_checkpoint() {
  if (!group()) return;
  std::string text;
  if (resumed) {
    text = fmt::format("{} {}\n{}\n{}{}", resumed_here_ ? 1 : 0, resumed->path.string(),
                       resumed->state.data_spec.size(), resumed->state.data_spec,
                       metadata_text(resumed->state));
  }
  wait([&] { text = broadcast(*group(), text); });
  if (rank_zero() || text.empty()) return;
  size_t line = text.find('\n');
  resumed.emplace();
  resumed_here_ = text[0] == '1';
  resumed->path = text.substr(2, line - 2);
  size_t spec = text.find('\n', line + 1) + 1;
  resumed->state.data_spec = text.substr(spec, std::stoul(text.substr(line + 1)));
  read_metadata_text(text.substr(spec + resumed->state.data_spec.size()), resumed->state);
}

void RunSetup::find_checkpoint(const RunOptions& options, Observer& observer) {
  auto warn = [&](const fs::path&, const std::string& text) { observer.on_warning(text); };
  if (options.checkpoint != nullptr) {
    resumed = *options.checkpoint;
  } else {
    NamedCheckpoint named(*options.resume, config.output, OfRun::newest);
    resumed = *options.resume == "auto" ? named.load_if_any(warn) : named.load(warn);
  }
  std::error_code error;
  resumed_here_ = resumed && fs::equivalent(fs::absolute(resumed->path).parent_path(),
                                            fs::path(config.output) / "checkpoints", error);
}

// Seed, towers and batch size say what a run computes: a resumed run keeps them, and a config that
// asks for others is told so. An evaluation computes nothing that goes on.
void RunSetup::keep_meaning(const RunOptions& options) {
  const StateMetadata& state = resumed->state;
  auto take = [&](const char* key, auto& asked, auto kept) {
    if (options.left_out.contains(key)) asked = kept;
  };
  auto compare = [&](const char* key, auto asked, auto kept) {
    if (asked == kept || options.evaluates) return;
    fail(Category::config,
         "{}: {}, but the run of {} has {}; use the same, or start a new run in another directory "
         "with --output",
         key, asked, resumed->path.string(), kept);
  };
  take("seed", config.seed, state.seed);
  take("batch_size", config.batch_size, state.batch_size);
  compare("seed", config.seed, state.seed);
  if (!config.towers) config.towers = state.towers;
  compare("towers", *config.towers, state.towers);
  settle_batch(config, *config.towers);
  compare("batch_size", config.batch_size, state.batch_size);
}

// The data tells which model auto is; keys that were given for another one are told of.
void RunSetup::settle_model(Observer& observer) {
  model_chosen_ = config.model.name == "auto";
  if (!model_chosen_) return;
  config.model.name = model_for(config.model, data.train->spec().columns);
  check_config(config);
  for (const Field& field : schema())
    if (field.used_by.key == "model.name" && unused(field, config) &&
        value_text(field, config) != value_text(field, RunConfig()))
      observer.on_warning(fmt::format("{} {}", field.path, unused_text(field, config)));
}

// Told once, and before what may be refused for the same reason.
void RunSetup::tell_notes(Observer& observer) {
  for (const std::string& note : std::exchange(data.notes, {})) observer.on_warning(note);
}

// Classes and columns of the data are those that the weights know, whatever their order is now.
void RunSetup::keep_data_meaning() {
  const std::string& known = resumed->state.data_spec;
  if (known.empty()) {
    data.notes.push_back(fmt::format(
        "{} does not say what data it was trained on; see to it that classes and columns are the "
        "same in the same order",
        resumed->path.string()));
    return;
  }
  data = match_trained_schema(std::move(data), sample_spec_from_text(known), resumed->path.string(),
                              task() == Task::classify);
}

// Rank 0 has the checkpoint's versions, and an observer.
void RunSetup::tell_changes(Observer& observer) const {
  if (!resumed) return;
  tell_changed_config(observer);
  std::string changes = changed_versions(resumed->state.versions, versions);
  if (changes.empty()) return;
  observer.on_warning(
      fmt::format("libraries changed since {}: {}; the result may differ in the last bits from a "
                  "run with the same libraries",
                  resumed->path.string(), changes));
}

// Other keys may change, but then the run is not the one that went straight.
void RunSetup::tell_changed_config(Observer& observer) const {
  RunConfig before;
  try {
    before = parse_config({{"config", resumed->state.config_yaml}}, {}).config;
  } catch (const Error&) {
    return;  // written by a program with other keys
  }
  std::vector<std::string> changes;
  for (const Field& field : schema()) {
    if (!field.shapes_result) continue;
    std::string was = value_text(field, before), is = value_text(field, config);
    if (is != was) changes.push_back(fmt::format("{} is {}, was {}", field.path, is, was));
  }
  if (changes.empty()) return;
  observer.on_warning(
      fmt::format("the config changed since {}: {}; the result will differ from a run without "
                  "the change",
                  resumed->path.string(), fmt::join(changes, "; ")));
}

CheckpointStore RunSetup::store() const {
  return CheckpointStore(fs::path(config.output) / "checkpoints",
                         {config.checkpoint.keep_last, config.checkpoint.keep_every_steps});
}

// In the order of the dataset, as it is stored: what evaluation reads.
LoaderOptions RunSetup::loading() const {
  LoaderOptions options;
  options.batch_size = placement.batch_size;
  options.towers = placement.towers;
  TowerRange own = placement.towers_of(placement.rank);
  options.first_tower = own.begin;
  options.tower_count = own.size();
  options.workers = config.data.workers;
  options.prefetch = config.data.prefetch;
  options.shuffle = false;
  options.seed = config.seed;
  options.device = placement.lanes[0].device;
  options.thread_name = "test reader";
  options.cores = placement.helper_cores;
  return options;
}

std::unique_ptr<BatchLoader> RunSetup::train_loader(int64_t held) const {
  LoaderOptions options = loading();
  options.shuffle = true;
  options.thread_name = "reader";
  options.drop_last = config.data.last_batch == DataConfig::LastBatch::drop;
  options.mix = mixing();
  options.in_use = held;
  return std::make_unique<BatchLoader>(*data.train, options);
}

MixOptions RunSetup::mixing() const {
  return {config.data.augment.mixup, config.data.augment.cutmix};
}

std::vector<Column> RunSetup::train_columns() const {
  std::vector<Column> columns = data.train->spec().columns;
  return mixing().any() ? Mixer(columns, mixing(), config.seed).columns() : columns;
}

std::unique_ptr<BatchLoader> RunSetup::test_loader() const {
  return std::make_unique<BatchLoader>(*data.test, loading());
}

TrainerOptions RunSetup::trainer_options() const {
  return {.model = config.model,
          .loss = config.loss,
          .optimizer = config.optimizer,
          .ema = config.ema,
          .loss_scale = config.loss_scale,
          .train_columns = train_columns(),
          .test_columns = data.test->spec().columns,
          .classes = data.train->spec().classes,
          .precision = compute_dtype(config),
          .seed = config.seed,
          .train_samples =
              config.data.last_batch == DataConfig::LastBatch::drop ? 0 : data.train->count(),
          .test_samples = data.test->count(),
          .bucket = config.bucket,
          .sample_rows = EvaluationSamples::rows(task(), config.eval.samples),
          .recompute = config.memory.recompute == MemoryConfig::Recompute::blocks,
          .memory_limit = parse_memory_limit(config.memory.limit),
          .snapshot = saves_ ? snapshot_choice(config) : SnapshotChoice::never,
          .cuda = config.cuda,
          .tuning = tuning.get()};
}

Task RunSetup::task() const {
  return task_of(config.model, data.test->spec().columns);
}

Metric RunSetup::metric() const {
  switch (task()) {
    case Task::classify:
      return Metric::accuracy;
    case Task::predict_tokens:
      return Metric::perplexity;
    case Task::reconstruct:
      return Metric::psnr;
    case Task::regress:
      return Metric::rmse;
  }
  fail(Category::unexpected, "unknown task");
}

double RunSetup::learning_rate() const {
  return scaled_lr(config.optimizer.lr, config.lr, placement.global_batch());
}

int64_t RunSetup::steps_per_epoch() const {
  int64_t global = placement.global_batch();
  bool drop = config.data.last_batch == DataConfig::LastBatch::drop;
  return drop ? data.train->count() / global : (data.train->count() + global - 1) / global;
}

int64_t RunSetup::total_steps() const {
  return config.steps ? *config.steps : config.epochs * steps_per_epoch();
}

StartInfo RunSetup::start_info(const Trainer& trainer, int64_t total_steps) const {
  StartInfo info;
  info.model = config.model.name;
  if (model_chosen_) info.model_note = "auto: the data has " + data.train->spec().columns[0].name;
  info.task = task_text(task(), data.train->spec());
  info.dataset = config.data.name;
  auto memory = memory_of_all(trainer, group());
  for (size_t d = 0; d < placement.devices.size(); ++d) {
    const PlacedDevice& device = placement.devices[d];
    info.devices.push_back({to_string(device.id), device.description, device.towers.size(),
                            memory[d].planned, device.rank,
                            world_ ? world_->ranks[static_cast<size_t>(device.rank)].host : "",
                            memory[d].limit});
  }
  info.device_note = placement.note;
  info.cores = cores_text_;
  info.processes = placement.ranks;
  if (group()) info.transport = group()->transport();
  info.exchange = placement.exchange;
  info.strategy = word_of(config.strategy);
  info.reduction = word_of(config.reduction);
  info.batch_size = placement.batch_size;
  info.towers = placement.towers;
  info.tower_threads = placement.tower_threads;
  info.lr_scaling = word_of(config.lr.scaling);
  info.lr = learning_rate();
  info.base_lr = config.optimizer.lr;
  info.base_batch = config.lr.base_batch;
  info.parameters = trainer.layout().parameter_count();
  info.train_samples = data.train->count();
  info.test_samples = data.test->count();
  info.steps_per_epoch = steps_per_epoch();
  info.total_steps = total_steps;
  info.epochs = (total_steps + info.steps_per_epoch - 1) / info.steps_per_epoch;
  HostSpace host = host_space();
  info.host_memory = fmt::format("{} are free of {}", bytes_text(static_cast<int64_t>(host.free)),
                                 host.limited_by);
  if (saves_) info.checkpoints = trainer.checkpoints_text();
  info.recompute = trainer.recompute();
  info.precision = word_of(config.precision);
  info.guarantee = guarantee(placement);
  info.output = config.output;
  if (resumed) {
    info.resumed_from = resumed->path.string();
    info.resumed_step = resumed->state.step;
  }
  return info;
}

}  // namespace spire::inline run
