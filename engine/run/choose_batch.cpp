// batch_size: auto: a run's setup chooses the batch by plans, and tries it once before the run.
#include <algorithm>

#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"

namespace spire {
namespace {

// The first two clauses of a shortage: what is missing, and of what.
std::string short_text(const std::string& shortage) {
  size_t second = shortage.find("; ", shortage.find("; ") + 1);
  return shortage.substr(0, second);
}

std::string shape_text(const BatchShape& shape) {
  return fmt::format("{} (global batch {} = {} x {})", shape.batch_size,
                     shape.batch_size * shape.towers, counted(shape.towers, "tower"),
                     shape.batch_size);
}

// One step and one evaluation on real data, as the run will do them.
void try_run(const RunSetup& setup) {
  std::unique_ptr<BatchLoader> train_data, test_data;  // outlive the trainer, which reads them
  TowerTrainer trainer(setup.trainer_options(), setup.placement);
  train_data = train_loader(setup.config, setup.data, setup.placement, trainer.max_ahead() + 1);
  test_data = evaluation_loader(setup.config, setup.data.selection(), setup.placement);
  trainer.team().lead([&] {
    train_data->start(0, 0, 1);
    trainer.step(train_data->next(), 0, 0.0);  // lr: the weights are thrown away
    EvaluationSums sums;
    test_data->start(0, 0, 1);
    trainer.begin_evaluation();
    trainer.evaluate(test_data->next(), sums);
    trainer.end_evaluation();
  });
}

}  // namespace

// Any batch does for this: which data there is and where it is computed do not depend on it.
RunConfig RunSetup::with_any_batch() const {
  RunConfig any = config;
  any.batch_size = 1;
  any.global_batch.reset();
  return any;
}

void RunSetup::take_shape(const BatchShape& shape) {
  RunConfig shaped = config;
  shaped.batch_size = shape.batch_size;
  shaped.towers = shape.towers;
  shaped.tower_threads = asked_threads_;
  placement = place_towers(shaped, places_, ranks.rank());
}

// Processes on CPUs of one host plan in the same memory, and each knows its own plans alone.
double RunSetup::free_share() const {
  bool on_cpus = placement.devices[0].id.kind == DeviceKind::cpu;
  return on_cpus ? chosen_share / ranks.processes_here() : chosen_share;
}

// Planned without measured engines: to measure them for each shape would take longer than the run's
// start, and their scratch memory is in the plan of the trainer that trains.
std::string RunSetup::shortage_of(const BatchShape& shape) {
  take_shape(shape);
  TowerTrainerOptions options = trainer_options();
  options.plan_only = true;
  options.tuning = nullptr;
  std::string shortage =
      TowerTrainer(options, placement, ranks.group()).memory_shortage(free_share());
  if (!ranks.group()) return shortage;
  // The ranks decide alike: a shape fits if it fits all of them.
  for (const std::string& other : ranks.all_gather(shortage))
    if (!other.empty()) return other;
  return "";
}

void RunSetup::choose_batch() {
  BatchRequest request{.devices = placement.towers,  // one for each that the config names
                       .on_cpus = placement.devices[0].id.kind == DeviceKind::cpu,
                       .samples = data.train->count(),
                       .towers = config.towers,
                       .global_batch = config.global_batch};
  shapes_ = batch_shapes(request);
  if (shapes_.empty())
    fail(Category::config,
         "global_batch: {} samples for {}: some devices would have nothing to do; use fewer "
         "devices or a larger global batch",
         *config.global_batch, counted(request.devices, "device"));
  std::string lacking;  // of the smallest shape that does not fit
  shape_ = last_fitting(shapes_, [&](const BatchShape& shape) {
    std::string shortage = shortage_of(shape);
    if (!shortage.empty()) lacking = shortage;
    return shortage.empty();
  });
  bool largest = shape_ + 1 == shapes_.size();
  batch_note =
      fmt::format("auto chose {}: {}", shape_text(shapes_[shape_]),
                  largest ? request.why_largest()
                          : fmt::format("{} does not fit: {}", shapes_[shape_ + 1].batch_size,
                                        short_text(lacking)));
  batch_note +=
      fmt::format("\nof the free memory, {:.0f} % are not planned for", 100 * (1 - chosen_share));
  if (free_share() < chosen_share)
    batch_note += fmt::format("; {} of this host share the rest equally",
                              counted(ranks.processes_here(), "process"));
  settle_shape();
}

void RunSetup::settle_shape() {
  take_shape(shapes_[shape_]);
  settle_placed();
  cores = describe_use(placement, own_place_);
  require_batches(config, data, placement);
  check_placed();
}

void RunSetup::try_batch(Observer& observer) {
  if (shapes_.empty() || ranks.group()) return;
  while (!stop_ || !*stop_) {
    try {
      return try_run(*this);
    } catch (const Error& error) {
      int64_t half = shapes_[shape_].batch_size / 2;
      // The run meets all other errors itself, with its guard and its reports.
      if (error.category() != Category::out_of_memory) return;
      if (shape_ == 0) throw;
      observer.on_note(fmt::format("batch_size {} is too large: {}", shapes_[shape_].batch_size,
                                   short_text(error.what())));
      while (shape_ > 0 && shapes_[shape_].batch_size > half) --shape_;
    }
    settle_shape();
    batch_note = fmt::format("auto chose {}, as a larger one ran out of memory when it was tried",
                             shape_text(shapes_[shape_]));
  }
}

}  // namespace spire
