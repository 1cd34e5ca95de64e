#include "engine/run/run_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <sys/resource.h>

#include <fmt/ranges.h>

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/topology.h"
#include "engine/observe/formatting.h"
#include "engine/run/audit/bit_keys.h"
#include "engine/run/resume.h"

namespace spire {
namespace {

constexpr size_t max_names = 5;  // of classes

std::string input_text(const SampleSpec& spec) {
  const Column& input = spec.columns.front();
  return input.name == "features" ? counted(input.shape.elements(), "feature") : input.name;
}

std::string classes_text(const SampleSpec& spec) {
  std::string text = counted(spec.classes, "class");
  return spec.class_names.empty() ? text : text + ": " + quoted_list(spec.class_names, max_names);
}

struct DeviceMemoryPlan {
  int64_t limit = 0;  // 0: none
  MemoryByKind planned;
};

// Gathers the plans of the devices of all ranks, in device order. The message of a rank has a line
// a device: "<limit> <kind> <bytes> <kind> <bytes> ...".
std::vector<DeviceMemoryPlan> memory_of_all(const TowerTrainer& trainer, ProcessGroup* group) {
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
  // Ranks are in the order of their devices, so that their lines joined are all devices in order.
  std::istringstream text(fmt::format("{}", fmt::join(all_gather(*group, lines), "")));
  for (std::string line, kind; std::getline(text, line);) {
    std::istringstream words(line);
    words >> all.emplace_back().limit;
    for (int64_t bytes = 0; words >> kind >> bytes;) all.back().planned.emplace_back(kind, bytes);
  }
  return all;
}

// A resumed run may have other values of these keys, but its result differs from that of a run
// which was never interrupted.
void warn_of_changed_config(const RunSetup& setup, Observer& observer) {
  std::optional<RunConfig> before = recorded_config(setup.resumed->state);
  if (!before) return;
  std::vector<std::string> changes;
  BitContext context = bit_context(setup);
  for (const auto& [field, was, is] : differences({*before, context}, {setup.config, context}))
    if (field->shapes_result)
      changes.push_back(fmt::format("{} is {}, was {}", field->path, is, was));
  if (changes.empty()) return;
  observer.on_warning(
      fmt::format("the config changed since {}: {}; the result will differ from a run without "
                  "the change",
                  setup.resumed->path.string(), fmt::join(changes, "; ")));
}

// Returns the peak of this process's memory in RAM. ru_maxrss also counts the process that started
// this one, up to exec(); VmHWM does not.
int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

ValidationSummary validation_of(const RunContext& run) {
  const TrainingProgress& progress = run.progress;
  ValidationSummary summary;
  summary.best_by = run.setup.metrics().best;
  summary.held_out = run.setup.data.val != nullptr;
  summary.others = progress.evaluated_others;
  summary.measured = progress.evaluated_step >= 0;
  summary.loss = progress.evaluated_loss;
  summary.metric = {run.setup.metric(), progress.evaluated_metric};
  // NaN where all evaluations were NaN, so that none was the best.
  bool none = progress.best_step < 0 && summary.measured;
  summary.best = none ? std::numeric_limits<double>::quiet_NaN() : progress.best_metric;
  return summary;
}

// "accuracy on the validation data"
std::string best_text(const RunSetup& setup) {
  std::string text(to_string(setup.metrics().best));
  if (setup.data.val) return text + " on the validation data";
  return text +
         " on the test data, so that it is not an unbiased test score; data.val.share holds out "
         "validation data";
}

// Adds up the bytes of a rank's devices, by kind of memory.
std::map<std::string, int64_t> sum_by_kind(const std::vector<MemoryByKind>& devices) {
  std::map<std::string, int64_t> sums;
  for (const MemoryByKind& device : devices)
    for (const auto& [kind, bytes] : device) sums[kind] += bytes;
  return sums;
}

}  // namespace

std::string task_text(Task task, const SampleSpec& spec) {
  switch (task) {
    case Task::classify:
      return fmt::format("classify {} into {}", input_text(spec), classes_text(spec));
    case Task::regress:
      return fmt::format("predict {} from {}",
                         counted(spec.find("values")->shape.elements(), "value"), input_text(spec));
    case Task::predict_tokens:
      return fmt::format("predict the next token, one of {}, from up to {}", spec.classes,
                         spec.columns.front().shape[0]);
    case Task::custom:
      return "minimize the program's own loss";
    case Task::segment:
      return fmt::format("find the class of each pixel, one of {}, in {}", spec.classes,
                         input_text(spec));
    case Task::reconstruct:
      break;
  }
  bool own = spec.find("target_images") != nullptr;
  std::string text = own ? "make the target images of those that are read"
                         : "make images like those that are read";
  for (const char* other : {"labels", "values"})
    if (spec.find(other) != nullptr) text += fmt::format("; {} are not used", other);
  return text;
}

StartInfo start_info(const RunSetup& setup, const TowerTrainer& trainer, int64_t total_steps) {
  const RunConfig& config = setup.config;
  const DatasetPair& data = setup.data;
  const Placement& placement = setup.placement;
  ProcessGroup* group = setup.ranks.group();
  StartInfo info;
  info.model = config.model.name;
  if (setup.model_chosen)
    info.model_note = "auto: the data has " + data.train->spec().columns[0].name;
  info.teacher = setup.teacher.text;
  info.task = task_text(setup.task(), data.train->spec());
  info.dataset = setup.own_data ? "data of the program" : config.data.name;
  auto memory = memory_of_all(trainer, group);
  for (size_t d = 0; d < placement.devices.size(); ++d) {
    const PlacedDevice& device = placement.devices[d];
    info.devices.push_back({to_string(device.id), device.description, device.towers.size(),
                            memory[d].planned, device.rank, setup.ranks.host_of(device.rank),
                            memory[d].limit});
  }
  // How the work is shared: cores, processes, strategy, batch.
  info.device_note = placement.note;
  info.cores = setup.cores;
  info.processes = placement.ranks;
  if (group) info.transport = group->transport();
  info.exchange = placement.exchange;
  if (!info.exchange.empty() && peer_access_disabled()) info.exchange += " (NCCL_P2P_DISABLE)";
  info.strategy = word_of(config.strategy);
  info.reduction = word_of(config.reduction);
  info.batch_size = placement.batch_size;
  info.batch_note = setup.batch_note;
  if (std::string text = accumulation_text(placement); !text.empty())
    info.batch_note += (info.batch_note.empty() ? "" : "\n") + text;
  info.towers = placement.towers;
  info.global_batch = placement.global_batch;
  info.tower_threads = placement.tower_threads;
  info.lr_scaling = word_of(config.lr.scaling);
  info.lr = setup.learning_rate();
  info.base_lr = config.optimizer.lr;
  info.base_batch = config.lr.base_batch;
  // Amounts: parameters, samples, steps, memory.
  info.parameters = trainer.layout().parameter_count();
  info.frozen = trainer.layout().frozen_count();
  info.train_samples = data.train->count();
  info.test_samples = data.test->count();
  info.val_samples = data.val ? data.val->count() : 0;
  info.best_by = best_text(setup);
  info.steps_per_epoch = setup.steps_per_epoch();
  info.total_steps = total_steps;
  info.epochs = (total_steps + info.steps_per_epoch - 1) / info.steps_per_epoch;
  HostSpace host = host_space();
  info.host_memory = fmt::format("{} are free of {}", bytes_text(host.free), host.limited_by);
  if (setup.saves) info.checkpoints = trainer.checkpoints_text();
  // Promises and paths.
  info.recompute = trainer.recompute();
  info.precision = word_of(config.precision);
  info.guarantee = setup.config.precision == RunConfig::Precision::exact
                       ? exact_guarantee(placement)
                       : guarantee(placement);
  info.output = config.output;
  if (setup.resumed) {
    info.resumed_from = setup.resumed->path.string();
    info.resumed_step = setup.resumed->state.step;
  }
  return info;
}

void warn_of_changes(const RunSetup& setup, Observer& observer) {
  if (!setup.resumed) return;
  warn_of_changed_config(setup, observer);
  std::string changes = changed_versions(setup.resumed->state.versions, setup.versions);
  if (changes.empty()) return;
  observer.on_warning(
      fmt::format("libraries changed since {}: {}; the result may differ in the last bits from a "
                  "run with the same libraries",
                  setup.resumed->path.string(), changes));
}

void warn_of_cuda_versions(const Placement& placement, Observer& observer) {
  if (placement.lanes[0].device.kind == DeviceKind::cpu) return;  // opens no library of GPUs
  auto found = cuda_versions();
  if (!found) return;
  for (const std::string& doubt : version_doubts(*found)) observer.on_warning(doubt);
}

namespace {

// Whether a tower has one sample alone of an epoch's last batch; sync: all towers do.
bool ends_with_one_sample(const RunSetup& setup, bool sync) {
  if (setup.config.data.last_batch == DataConfig::LastBatch::drop) return false;
  int64_t last = setup.data.train->count() % setup.placement.global_batch;
  return sync ? last == 1 : last % setup.placement.batch_size == 1;
}

}  // namespace

// Statistics of a few samples are mostly noise, and one has no variance.
void warn_of_small_batches(const RunSetup& setup, const ParameterLayout& layout,
                           Observer& observer) {
  // Batch norm has running statistics; a frozen one computes none.
  const auto& entries = layout.entries();
  bool normalizes = std::any_of(entries.begin(), entries.end(), [](const ParameterEntry& entry) {
    return entry.statistic && !entry.frozen;
  });
  int64_t last = setup.placement.global_batch % setup.placement.batch_size;
  int64_t samples = last > 0 ? last : setup.placement.batch_size;
  bool sync = setup.config.model.batch_norm == ModelConfig::BatchNorm::sync;
  if (!normalizes) return;
  if (ends_with_one_sample(setup, sync) && (sync || samples >= 8))
    observer.on_warning(fmt::format(
        "batch norm computes its statistics over only 1 sample in the last batch of each epoch "
        "({}, {} a step), and what it normalizes there is noise; set data.last_batch: drop, or "
        "another batch_size",
        counted(setup.data.train->count(), "sample"), setup.placement.global_batch));
  if (samples >= 8 || sync) return;
  int64_t all = setup.placement.global_batch;
  observer.on_warning(fmt::format(
      "batch norm computes its statistics over only {} (those of one tower); {}",
      counted(samples, "sample"),
      all > samples ? fmt::format("set batch_norm: sync to use all {} of the global batch", all)
                    : "raise batch_size"));
}

namespace {

// What is known of a metric before the first evaluation: "" or why it is always the same.
std::string why_always_the_same(Metric metric, int64_t classes) {
  int64_t places = metric == Metric::top3 ? 3 : metric == Metric::top5 ? 5 : 0;
  if (classes > places) return "";
  return fmt::format("{} of {} is always 1", to_string(metric), counted(classes, "class"));
}

void warn_of_metrics(const RunSetup& setup, Observer& observer) {
  if (setup.task() != Task::classify) return;
  const MetricChoice& choice = setup.metrics();
  int64_t classes = setup.data.train->spec().classes;
  std::string best = why_always_the_same(choice.best, classes);
  if (!best.empty())
    observer.on_warning(fmt::format(
        "best.metric: {}, so the first evaluation stays the best; use another metric", best));
  for (Metric metric : choice.metrics) {
    std::string why = why_always_the_same(metric, classes);
    if (!why.empty() && metric != choice.best) observer.on_warning("eval.metrics: " + why);
  }
}

}  // namespace

void warn_of_keys_without_effect(const RunSetup& setup, Observer& observer) {
  const LossConfig& loss = setup.config.loss;
  bool values = setup.task() == Task::regress || setup.task() == Task::reconstruct;
  if (values && loss.name == LossConfig::Name::automatic && loss.label_smoothing > 0)
    observer.on_warning(
        "loss.label_smoothing: has no effect, as the data has values and no classes");
  if (!loss.class_weights.empty() && std::ranges::max(loss.class_weights) == 0)
    observer.on_warning(
        "loss.class_weights: all are 0, so no sample counts and nothing is learned; give the "
        "classes that matter weights above 0");
  int64_t samples = setup.data.train->count(), batch = setup.placement.global_batch;
  if (setup.config.lr.scaling != LrConfig::Scaling::none && samples < batch)
    observer.on_warning(
        fmt::format("lr.scaling: the learning rate is that of batches of {}, but the data has {}, "
                    "so no batch has more; use a smaller batch_size",
                    batch, counted(samples, "sample")));
  warn_of_metrics(setup, observer);
}

void warn_of_frozen_noise(const ParameterLayout& layout, Observer& observer) {
  if (layout.frozen_count() == 0) return;
  observer.on_warning(fmt::format(
      "training leaves {} at the random values they begin with, as neither init.from nor "
      "--resume gives weights; name trained ones with init.from, or leave freeze and "
      "adapt out",
      counted(layout.frozen_count(), "parameter")));
}

RunSummary summarize(const RunContext& run, const RunOutput& output,
                     const RunCheckpoints& checkpoints, int exit, const std::string& stopped_by,
                     const std::string& ema_hash) {
  const RunSetup& setup = run.setup;
  RunSummary summary = run.clock.summary();
  summary.steps = run.steps_done;
  summary.epochs = run.clock.epoch(run.steps_done);
  summary.val = validation_of(run);
  summary.parameter_hash = hex(run.trainer.parameter_hash());
  summary.ema_hash = ema_hash;
  summary.chain = run.audit.value();
  for (const PlacedDevice& device : setup.placement.devices)
    summary.devices.push_back(to_string(device.id));
  summary.towers = setup.placement.towers;
  summary.processes = run.world.size();
  summary.strategy = word_of(setup.config.strategy);
  summary.peak_memory_bytes = sum_by_kind(run.trainer.peak_memory());
  summary.peak_memory_bytes["host_rss"] = peak_resident_bytes();
  summary.planned_memory_bytes = sum_by_kind(run.trainer.planned_memory());
  summary.exit = exit;
  summary.stopped_by = stopped_by;
  if (output.is_writable()) {
    summary.output = setup.config.output;
    summary.checkpoint = checkpoints.path();
    summary.metrics = (std::filesystem::path(setup.config.output) / "metrics.jsonl").string();
  }
  return summary;
}

}  // namespace spire
