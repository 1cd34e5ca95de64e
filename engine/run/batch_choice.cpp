#include "engine/run/batch_choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"

namespace spire {
namespace {

// 1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, ...: quarters of powers of two.
std::vector<int64_t> sizes_up_to(int64_t largest) {
  std::vector<int64_t> sizes;
  for (int64_t power = 1; power <= largest; power *= 2) {
    int64_t step = std::max<int64_t>(8, power / 4);
    for (int64_t size = power; size < 2 * power && size <= largest; size += step)
      sizes.push_back(size);
  }
  return sizes;
}

std::vector<BatchShape> divisors(const BatchRequest& request, bool evenly) {
  std::vector<BatchShape> shapes;
  for (int64_t size = 1; size <= request.largest(); ++size) {
    int64_t towers = *request.global_batch / size;
    if (*request.global_batch % size != 0 || towers < request.devices) continue;
    if (!evenly || towers % request.devices == 0) shapes.push_back({size, towers});
  }
  return shapes;
}

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

int64_t BatchRequest::largest() const {
  constexpr int64_t any = int64_t{1} << 20;
  int64_t cap = on_cpus ? largest_cpu_batch : any;
  if (global_batch) return std::min(cap, *global_batch);
  int64_t share = samples / towers.value_or(devices);
  int64_t of_data = std::max(std::min(share, smallest_batch), share / fewest_steps);
  return std::max<int64_t>(1, std::min(cap, of_data));
}

std::string BatchRequest::why_largest() const {
  if (on_cpus && largest() == largest_cpu_batch)
    return fmt::format("auto takes at most {} on CPUs", largest_cpu_batch);
  if (global_batch) return "each device has at least one tower of the global batch";
  return fmt::format("larger ones leave fewer than {} steps of an epoch of {} samples",
                     fewest_steps, samples);
}

std::vector<BatchShape> batch_shapes(const BatchRequest& request) {
  if (request.global_batch) {
    std::vector<BatchShape> shapes = divisors(request, true);
    return shapes.empty() ? divisors(request, false) : shapes;
  }
  std::vector<BatchShape> shapes;
  for (int64_t size : sizes_up_to(request.largest()))
    shapes.push_back({size, request.towers.value_or(request.devices)});
  return shapes;
}

// The last comes first: a small model fits as it is.
size_t last_fitting(const std::vector<BatchShape>& shapes,
                    const std::function<bool(const BatchShape&)>& fits) {
  bool equal_towers = shapes.front().towers == shapes.back().towers;
  size_t low = 0, high = shapes.size() - 1;  // all below `low` are taken to fit
  if (high == 0 || fits(shapes[high])) return high;
  while (high - low > 1) {
    size_t next = equal_towers ? low + (high - low) / 2 : high - 1;
    bool fitting = fits(shapes[next]);
    if (fitting && !equal_towers) return next;
    (fitting ? low : high) = next;
  }
  return low;
}

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
