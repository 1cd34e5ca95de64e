#include "engine/run/start_report.h"

#include <sstream>

#include <fmt/ranges.h>

#include "engine/base/message_words.h"
#include "engine/config/words.h"
#include "engine/device/topology.h"
#include "engine/observe/units.h"

namespace spire::inline run {
namespace {

constexpr size_t max_names = 5;

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
    case Task::reconstruct:
      break;
  }
  std::string text = "make images like those that are read";
  for (const char* other : {"labels", "values"})
    if (spec.find(other) != nullptr) text += fmt::format("; {} are not used", other);
  return text;
}

StartInfo start_info(const RunSetup& setup, const Trainer& trainer, int64_t total_steps) {
  const RunConfig& config = setup.config;
  const DatasetPair& data = setup.data;
  const Placement& placement = setup.placement;
  ProcessGroup* group = setup.ranks.group();
  StartInfo info;
  info.model = config.model.name;
  if (setup.model_chosen)
    info.model_note = "auto: the data has " + data.train->spec().columns[0].name;
  info.task = task_text(setup.task(), data.train->spec());
  info.dataset = config.data.name;
  auto memory = memory_of_all(trainer, group);
  for (size_t d = 0; d < placement.devices.size(); ++d) {
    const PlacedDevice& device = placement.devices[d];
    info.devices.push_back({to_string(device.id), device.description, device.towers.size(),
                            memory[d].planned, device.rank, setup.ranks.host_of(device.rank),
                            memory[d].limit});
  }
  info.device_note = placement.note;
  info.cores = setup.cores;
  info.processes = placement.ranks;
  if (group) info.transport = group->transport();
  info.exchange = placement.exchange;
  info.strategy = word_of(config.strategy);
  info.reduction = word_of(config.reduction);
  info.batch_size = placement.batch_size;
  info.towers = placement.towers;
  info.tower_threads = placement.tower_threads;
  info.lr_scaling = word_of(config.lr.scaling);
  info.lr = setup.learning_rate();
  info.base_lr = config.optimizer.lr;
  info.base_batch = config.lr.base_batch;
  info.parameters = trainer.layout().parameter_count();
  info.train_samples = data.train->count();
  info.test_samples = data.test->count();
  info.steps_per_epoch = setup.steps_per_epoch();
  info.total_steps = total_steps;
  info.epochs = (total_steps + info.steps_per_epoch - 1) / info.steps_per_epoch;
  HostSpace host = host_space();
  info.host_memory = fmt::format("{} are free of {}", bytes_text(static_cast<int64_t>(host.free)),
                                 host.limited_by);
  if (setup.saves) info.checkpoints = trainer.checkpoints_text();
  info.recompute = trainer.recompute();
  info.precision = word_of(config.precision);
  info.guarantee = guarantee(placement);
  info.output = config.output;
  if (setup.resumed) {
    info.resumed_from = setup.resumed->path.string();
    info.resumed_step = setup.resumed->state.step;
  }
  return info;
}

}  // namespace spire::inline run
