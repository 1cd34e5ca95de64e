#include <spire/train/run_setup.h>

#include <fmt/ranges.h>

#include <algorithm>

#include <spire/config/check.h>
#include <spire/config/text.h>
#include <spire/train/checkpoint_file.h>

namespace spire {

namespace fs = std::filesystem;

namespace {

// Keys that say where and how a run is done, or that keep_meaning() holds fast; all others say what
// it computes.
bool shapes_result(std::string_view path) {
  for (std::string_view other :
       {"data.path", "data.workers", "data.prefetch", "eval.", "checkpoint.", "log.", "devices",
        "parameter_device", "strategy", "output", "seed", "towers", "tower_threads", "batch_size",
        "global_batch"}) {
    if (path.starts_with(other)) return false;
  }
  return true;
}

}  // namespace

DType compute_dtype(const RunConfig& config) {
  if (config.precision == "fp32") return DType::f32;
  if (config.precision == "bf16") return DType::bf16;
  fail(Category::device, "precision: {} has no CPU kernels; use bf16 or fp32", config.precision);
}

RunSetup::RunSetup(const RunConfig& given, const RunOptions& options, Observer& observer)
    : config(given) {
  check_config(config);
  if (options.resume && options.overwrite) {
    fail(Category::config,
         "--resume goes on with a run and --overwrite deletes it; give one of them");
  }
  compute_dtype(config);
  if (options.dry_run == 0) find_checkpoint(options, observer);
  if (resumed) keep_meaning();
  std::optional<int> threads;
  if (resumed) threads = static_cast<int>(resumed->state.tower_threads);
  placement = place_towers(config, discover_topology(), discover_cuda(), threads);
  config.batch_size = placement.batch_size;
  config.towers = placement.towers;
  config.tower_threads = placement.tower_threads;
  data = open_dataset(config.data.name, config.data.path);
  if (steps_per_epoch() == 0) {
    fail(Category::config,
         "data.last_batch: drop leaves nothing: the dataset has {} samples, less than one global "
         "batch of {}; lower batch_size or use weighted",
         data.train.count, placement.global_batch());
  }
}

void RunSetup::find_checkpoint(const RunOptions& options, Observer& observer) {
  if (!options.resume) return;
  if (*options.resume != "auto") {
    resumed = LoadedCheckpoint{*options.resume, read_checkpoint(*options.resume)};
    return;
  }
  resumed = store().newest_good([&](const fs::path& path, const std::string& reason) {
    observer.on_warning(fmt::format("{}: passed over: {}", path.string(), reason));
  });
  if (!resumed && !store().list().empty()) {
    fail(Category::checkpoint,
         "--resume auto: none of the checkpoints in {} is whole; look at the warnings "
         "above, and start anew with --overwrite in place of --resume",
         (fs::path(config.output) / "checkpoints").string());
  }
}

// Seed, towers and batch size say what a run computes: a resumed run keeps them, and a config that
// asks for others is told so.
void RunSetup::keep_meaning() {
  const TrainingState& state = resumed->state;
  auto refuse = [&](const char* key, auto asked, auto kept) {
    fail(Category::config,
         "{}: {} but the run of {} has {}; leave it so, or start a new run with another "
         "output directory",
         key, asked, resumed->path.string(), kept);
  };
  if (config.seed != state.seed) refuse("seed", config.seed, state.seed);
  if (config.towers && *config.towers != state.towers)
    refuse("towers", *config.towers, state.towers);
  config.towers = state.towers;
  settle_batch(config, state.towers);
  if (config.batch_size != state.batch_size)
    refuse("batch_size", config.batch_size, state.batch_size);
}

// Other keys may change, but then the run is not the one that went straight.
void RunSetup::tell_changes(Observer& observer) const {
  if (!resumed) return;
  RunConfig before;
  try {
    before = parse_config({{"config", resumed->state.config_yaml}}, {}).config;
  } catch (const Error&) {
    return;  // written by a program with other keys
  }
  std::vector<std::string> changes;
  for (const Field& field : schema()) {
    if (!shapes_result(field.path)) continue;
    std::string was = value_text(field, before), is = value_text(field, config);
    if (is != was) changes.push_back(fmt::format("{} is {}, was {}", field.path, is, was));
  }
  if (changes.empty()) return;
  observer.on_warning(
      fmt::format("the config changed since {}: {}; the result will differ from a run without "
                  "the change",
                  resumed->path.string(), fmt::join(changes, "; ")));
}

bool RunSetup::resumed_here() const {
  std::error_code error;
  return resumed && fs::equivalent(fs::absolute(resumed->path).parent_path(),
                                   fs::path(config.output) / "checkpoints", error);
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
  options.dtype = compute_dtype(config);
  options.workers = config.data.workers;
  options.prefetch = config.data.prefetch;
  options.shuffle = false;
  options.seed = config.seed;
  return options;
}

std::unique_ptr<BatchLoader> RunSetup::train_loader() const {
  LoaderOptions options = loading();
  options.shuffle = true;
  options.drop_last = config.data.last_batch == "drop";
  options.augment = {config.data.augment.crop, config.data.augment.flip};
  return std::make_unique<BatchLoader>(data.train, data.normalization, options);
}

std::unique_ptr<BatchLoader> RunSetup::test_loader() const {
  return std::make_unique<BatchLoader>(data.test, data.normalization, loading());
}

TrainerOptions RunSetup::trainer_options() const {
  const Dataset& train = data.train;
  return {.model = config.model,
          .loss = config.loss,
          .optimizer = config.optimizer,
          .image = {train.height, train.width, train.channels, train.classes},
          .precision = compute_dtype(config),
          .seed = config.seed,
          .train_samples = config.data.last_batch == "drop" ? 0 : train.count,
          .test_samples = data.test.count};
}

int64_t RunSetup::steps_per_epoch() const {
  int64_t global = placement.global_batch();
  bool drop = config.data.last_batch == "drop";
  return drop ? data.train.count / global : (data.train.count + global - 1) / global;
}

int64_t RunSetup::total_steps() const {
  return config.steps ? *config.steps : config.epochs * steps_per_epoch();
}

StartInfo RunSetup::start_info(const Trainer& trainer, int64_t total_steps) const {
  StartInfo info;
  info.model = config.model.name;
  info.dataset = config.data.name;
  auto memory = trainer.planned_memory();
  for (size_t d = 0; d < placement.devices.size(); ++d) {
    const PlacedDevice& device = placement.devices[d];
    info.devices.push_back(
        {to_string(device.id), device.description, device.towers.size(), memory[d]});
  }
  info.device_note = placement.note;
  info.batch_size = placement.batch_size;
  info.towers = placement.towers;
  info.tower_threads = placement.tower_threads;
  info.parameters = trainer.layout().parameter_count();
  info.train_samples = data.train.count;
  info.test_samples = data.test.count;
  info.steps_per_epoch = steps_per_epoch();
  info.total_steps = total_steps;
  info.epochs = (total_steps + info.steps_per_epoch - 1) / info.steps_per_epoch;
  info.precision = config.precision;
  info.guarantee = guarantee(placement);
  info.output = config.output;
  if (resumed) {
    info.resumed_from = resumed->path.string();
    info.resumed_step = resumed->state.step;
  }
  return info;
}

void prepare_output(const fs::path& output, bool overwrite) {
  std::error_code error;
  if (fs::exists(output, error) && !fs::is_directory(output, error)) {
    fail(Category::config, "output: {} is a file; name a directory", output.string());
  }
  if (fs::is_directory(output, error) && !fs::is_empty(output, error)) {
    if (!overwrite) {
      fail(Category::config,
           "output: {} is not empty; go on with --resume auto, delete the old run with "
           "--overwrite, or name another directory with --output",
           output.string());
    }
    for (const char* ours : {"checkpoints", "metrics.jsonl", "summary.json", "config.yaml"}) {
      fs::remove_all(output / ours, error);
    }
  }
  fs::create_directories(output, error);
  if (error) {
    fail(Category::config, "output: cannot create {}: {}", output.string(), error.message());
  }
}

}  // namespace spire
