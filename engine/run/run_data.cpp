#include "engine/run/run_data.h"

#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/data/validation.h"
#include "engine/run/resume.h"
#include "engine/train/model_graph.h"

namespace spire {
namespace {

// Reports the notes and removes them, so that none is reported twice.
void report_notes(DatasetPair& data, Observer& observer) {
  for (const std::string& note : std::exchange(data.notes, {})) observer.on_warning(note);
}

// The data decides which model `auto` is. Keys that were given for another model are reported.
void choose_model(RunConfig& config, const DatasetPair& data, Observer& observer) {
  config.model.name = model_for(config.model, data.train->spec().columns);
  check_config(config);
  for (const Field& field : schema())
    if (field.used_by.key == "model.name" && unused(field, config) &&
        value_text(field, config) != value_text(field, RunConfig()))
      observer.on_warning(fmt::format("{} {}", field.path, unused_text(field, config)));
}

// A program's own data is as whole as that of files.
void check_own_data(const DatasetPair& data) {
  if (!data.train || !data.test)
    fail(Category::data, "RunOptions::data: it returned no {} data",
         data.train ? "test" : "training");
  for (const Dataset* half : {data.train.get(), data.test.get()}) {
    if (half->spec().columns.empty())
      fail(Category::data, "RunOptions::data: the data has no columns");
    if (half->count() < 1) fail(Category::data, "RunOptions::data: the data has no samples");
  }
  if (data.train->spec().columns != data.test->spec().columns)
    fail(Category::data,
         "RunOptions::data: the columns of the training and the test data differ in name, shape or "
         "dtype");
  if (data.val && data.val->spec().columns != data.train->spec().columns)
    fail(Category::data,
         "RunOptions::data: the columns of the training and the validation data differ in name, "
         "shape or dtype");
}

// A program's own data may have brought its validation data.
void make_validation(const RunConfig& config, const RunOptions& options, const ReadOptions& read,
                     DatasetPair& data) {
  const ValConfig& val = config.data.val;
  bool by_path = val.path != "none";
  if (options.data && data.val && (val.share > 0 || by_path))
    fail(Category::config,
         "data.val: the program's data has validation data already; leave data.val out");
  if (by_path && options.data)
    fail(Category::config,
         "data.val.path: the program opens its data itself; give it validation data there "
         "(DatasetPair::val), or set data.val.share");
  if (by_path) return open_validation(config.data, read, data);
  if (val.share == 0 || data.val) return;  // packed documents are held out when they are opened
  std::function<DatasetPair()> plain;
  if (!options.data)
    plain = [&] {
      ReadOptions as_test = read;
      as_test.as_evaluation = true;
      return open_dataset(config.data, as_test);
    };
  hold_out_validation(config.data, plain, data);
}

bool drops_last(const RunConfig& config) {
  return config.data.last_batch == DataConfig::LastBatch::drop;
}

MixOptions mixing(const RunConfig& config) {
  return {config.data.augment.mixup, config.data.augment.cutmix};
}

LoaderOptions loader_options(const RunConfig& config, const Placement& placement) {
  LoaderOptions options;
  options.batch_size = placement.batch_size;
  options.towers = placement.towers;
  options.global_batch = placement.global_batch;
  // Each rank reads the rows of its own towers only.
  TowerRange own = placement.towers_of(placement.rank);
  options.first_tower = own.begin;
  options.tower_count = own.size();
  options.binary = config.loss.name == LossConfig::Name::binary;
  options.workers = config.data.workers;
  options.prefetch = config.data.prefetch;
  options.shuffle = false;  // as test data; train_loader() changes what differs
  options.seed = config.seed;
  options.device = placement.lanes[0].device;
  options.thread_name = "tester";
  options.cores = placement.helper_cores;
  return options;
}

// Whether the model may make images because of its data alone.
bool takes_any_output(const RunConfig& config, bool own_model) {
  return own_model || config.model.name == "auto" || config.model.name == "layers";
}

// Whether only the columns of the data say that its targets are images.
bool has_any_target(const DataConfig& data) {
  return (data.name == "hdf5" || data.name == "npy") &&
         data.degrade.kind == DegradeConfig::Kind::none;
}

// Tells whether the model's output is compared with pixels, as far as the config has it.
bool compares_pixels(const RunConfig& config, bool own_model) {
  const DataConfig& data = config.data;
  bool pairs = data.name == "image_pairs";
  if (pairs && data.pairs.target == PairsConfig::Target::mask) return false;
  bool targets = pairs || data.degrade.kind != DegradeConfig::Kind::none;
  return (targets && takes_any_output(config, own_model)) ||
         (!own_model && makes_images(config.model));
}

}  // namespace

Task run_task(const RunConfig& config, const Model* model, const DatasetPair& data) {
  const std::vector<Column>& columns = data.test->spec().columns;
  return model ? own_task(*model, columns) : task_of(config.model, columns);
}

int64_t epoch_steps(const RunConfig& config, const DatasetPair& data, int64_t global_batch) {
  int64_t samples = data.train->count();
  return drops_last(config) ? samples / global_batch : (samples + global_batch - 1) / global_batch;
}

DatasetPair open_run_data(RunConfig& config, const RunOptions& options, const Placement& placement,
                          const LoadedCheckpoint* resumed, Observer& observer) {
  using Normalize = DataConfig::Normalize;
  // Pixels of targets are from 0 to 1. Where arrays have them, reading these with auto does that.
  bool own_model = options.model != nullptr, images = compares_pixels(config, own_model);
  bool by_columns = !images && !options.data && takes_any_output(config, own_model) &&
                    has_any_target(config.data);
  if (config.data.normalize == Normalize::automatic && !by_columns)
    config.data.normalize = images ? Normalize::unit : Normalize::standard;
  ReadOptions read{
      .dtype = compute_dtype(config), .seed = config.seed, .all_test = options.all_test};
  if (resumed) read.trained = trained_spec(*resumed);
  DatasetPair data = options.data ? options.data(read) : open_dataset(config.data, read);
  if (options.data) check_own_data(data);
  if (config.data.normalize == Normalize::automatic)
    config.data.normalize =
        data.train->spec().find("target_images") ? Normalize::unit : Normalize::standard;
  // Notes come first: the data may be refused for the reason that they give.
  report_notes(data, observer);
  make_validation(config, options, read, data);
  if (resumed) {
    Task task = run_task(config, options.model.get(), data);
    bool classes = task == Task::classify || task == Task::segment;
    data = fit_to_checkpoint(std::move(data), *resumed, classes);
  }
  report_notes(data, observer);
  // From here on the columns are final: model, task and length of an epoch follow from them.
  if (!options.model && config.model.name == "auto") choose_model(config, data, observer);
  bool makes_pixels = run_task(config, options.model.get(), data) == Task::reconstruct;
  if (!options.data && makes_pixels && config.data.normalize != Normalize::unit) {
    fail(Category::config,
         "data.normalize: {} does not fit a model that makes images, whose pixels are from 0 to 1; "
         "use unit",
         word_of(config.data.normalize));
  }
  require_batches(config, data, placement);
  return data;
}

void require_batches(const RunConfig& config, const DatasetPair& data, const Placement& placement) {
  if (epoch_steps(config, data, placement.global_batch) > 0) return;
  fail(Category::config,
       "data.last_batch: drop leaves no batch: the dataset has {} samples, fewer than one global "
       "batch of {}; lower batch_size, or use weighted",
       data.train->count(), placement.global_batch);
}

std::vector<Column> train_columns(const RunConfig& config, const DatasetPair& data) {
  std::vector<Column> columns = data.train->spec().columns;
  MixOptions mix = mixing(config);
  return mix.any() ? Mixer(columns, mix, config.seed).columns() : columns;
}

std::unique_ptr<BatchLoader> train_loader(const RunConfig& config, const DatasetPair& data,
                                          const Placement& placement, int64_t in_use) {
  LoaderOptions options = loader_options(config, placement);
  options.shuffle = true;
  options.thread_name = "reader";
  options.drop_last = drops_last(config);
  options.mix = mixing(config);
  options.in_use = in_use;
  return std::make_unique<BatchLoader>(*data.train, options);
}

std::unique_ptr<BatchLoader> evaluation_loader(const RunConfig& config, const Dataset& data,
                                               const Placement& placement) {
  return std::make_unique<BatchLoader>(data, loader_options(config, placement));
}

std::string left_out_text(const Dataset& data) {
  return fmt::format("{} left out; the first: {}", counted(data.skipped(), "broken sample"),
                     data.first_problem());
}

void SkippedSampleWarnings::warn(const DatasetPair& data, Observer& observer) {
  for (const Dataset* half : {data.train.get(), data.test.get(), data.val.get()}) {
    if (!half || half->skipped() == reported_[half]) continue;
    reported_[half] = half->skipped();
    observer.on_warning(left_out_text(*half));
  }
}

}  // namespace spire
