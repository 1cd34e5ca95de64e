// Small training runs on synthetic data, through the TowerTrainer alone.
#pragma once
#include <spire/random_stream.h>

#include "engine/config/words.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/loader.h"
#include "engine/graph/finetuning.h"
#include "engine/train/tower_trainer.h"
#include "tests/process/ranks.h"

namespace spire {

// Returns `count` images of 8x8: noise and a bright row, whose index is the label.
inline LabelledImages made_up_dataset(int64_t count, uint64_t seed = 1) {
  LabelledImages data;
  data.count = count;
  data.height = data.width = 8;
  data.channels = 1;
  data.classes = 4;
  RandomStream random(seed, Purpose::initialize);
  for (int64_t n = 0; n < count; ++n) {
    auto label = static_cast<int32_t>(random.below(static_cast<uint64_t>(n), 4));
    data.labels.push_back(label);
    for (int64_t p = 0; p < 64; ++p) {
      auto noise = random.below(static_cast<uint64_t>(1000000 + n * 64 + p), 100);
      data.pixels.push_back(static_cast<uint8_t>(noise + (p / 8 == 2 * label ? 120 : 0)));
    }
  }
  return data;
}

// A config, and facts beside it. The members that it declares anew are what tests set.
struct SmallRun : RunConfig {
  SmallRun() {
    model = {.name = "cnn", .hidden = {16}, .channels = {4, 8}, .dropout = 0.2};
    optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 0.05, .momentum = 0.9, .nesterov = true};
    bucket = {.first_mib = 0.02, .mib = 0.04};
    batch_size = 4;
    devices = {"cpu:0"};  // of each rank
    seed = 3;
  }

  std::shared_ptr<const Teacher> teacher = nullptr;
  FreezeOptions freeze = {};
  DType precision = DType::f32;
  bool exact = false;  // precision: exact
  int64_t samples = 103, towers = 4, tower_threads = 1;
  int ranks = 1;
  std::string strategy = "parameter_device", reduction = "invariant";
  bool recompute = false, judged = false;
  SnapshotChoice snapshot = SnapshotChoice::fitting;

  RunConfig config() const {
    RunConfig config = *this;
    config.freeze = freeze.patterns;
    config.freeze_batch_norm = freeze.batch_norm;
    if (precision == DType::bf16) config.precision = Precision::bf16;
    if (precision == DType::f16) config.precision = Precision::fp16;
    if (exact) config.precision = Precision::exact;
    config.towers = towers;
    config.tower_threads = tower_threads;
    config.strategy = *find_word<Strategy>(strategy);
    config.reduction = *find_word<RunConfig::Reduction>(reduction);
    if (recompute) config.memory.recompute = MemoryConfig::Recompute::blocks;
    return config;
  }
  Placement place(int rank = 0) const {
    CudaStatus gpus = discover_cuda();
    RankHardware host{.host = "here",
                      .cores = {0, 1},
                      .gpus = gpus.devices,
                      .why_no_gpu = gpus.why_none,
                      .peers = find_peers(gpus.devices)};
    auto places = share_out(std::vector<RankHardware>(static_cast<size_t>(ranks), host));
    for (RankHardware& place : places) {  // GPUs are shared out, cores are not
      place.cores = host.cores;
      place.threads = 0;
    }
    return place_towers(config(), places, rank);
  }
  std::vector<Column> columns() const {
    return {{"images", {8, 8, 1}, precision}, {"labels", {}, DType::i32}};
  }
  ImageDataset dataset(const AugmentConfig& augment = {1, true}, uint64_t data_seed = 1) const {
    LabelledImages images = made_up_dataset(samples, data_seed);
    return ImageDataset(images, normalization_of(images), augment, {precision, seed});
  }
  TowerTrainerOptions options() const {
    return {.config = config(),
            .teacher = teacher,
            .train_columns = columns(),
            .test_columns = columns(),
            .classes = 4,
            .exact_batch = exact ? global_batch.value_or(batch_size * towers) : 0,
            .train_samples = samples,
            .test_samples = samples,
            .snapshot = snapshot,
            .judged = judged};
  }
  // The same for other data. test: the data of evaluations, where it is another's.
  TowerTrainerOptions options(const Dataset& train, const Dataset* test = nullptr) const {
    TowerTrainerOptions others = options();
    others.train_columns = train.spec().columns;
    others.test_columns = (test ? *test : train).spec().columns;
    others.classes = train.spec().classes;
    return others;
  }
  LoaderOptions loading(int rank = 0) const {
    Placement placement = place(rank);
    TowerRange own = placement.towers_of(rank);
    return {.batch_size = batch_size,
            .towers = towers,
            .global_batch = placement.global_batch,
            .first_tower = own.begin,
            .tower_count = own.size(),
            .workers = 1,
            .prefetch = 2,
            .shuffle = true,
            .drop_last = false,
            .seed = seed,
            .device = placement.lanes[0].device};
  }
  // A loader for a loop that asks for a batch while max_ahead() steps are under way.
  LoaderOptions loading_ahead(const TowerTrainer& trainer) const {
    LoaderOptions options = loading(trainer.placement().rank);
    options.in_use = trainer.max_ahead() + 1;
    return options;
  }
};

inline SmallRun changed_run(const std::function<void(SmallRun&)>& change) {
  SmallRun run;
  change(run);
  return run;
}

// Returns a trainer that has compiled the run's plans, and allocated nothing.
inline TowerTrainer planned_trainer(const SmallRun& run) {
  TowerTrainerOptions options = run.options();
  options.plan_only = true;
  return {options, run.place()};
}

// Calls body(batch, step) for the steps [from, to) of the data, on the leading thread. The body
// leaves at most max_ahead() steps under way, and the last one none.
inline void for_batches(TowerTrainer& trainer, const SmallRun& run, const Dataset& data,
                        int64_t from, int64_t to,
                        const std::function<void(const Batch&, int64_t)>& body) {
  BatchLoader loader(data, run.loading_ahead(trainer));
  trainer.team().lead([&] {
    int64_t per_epoch = loader.steps_per_epoch();
    loader.start(from / per_epoch, from % per_epoch, INT64_MAX);
    for (int64_t step = from; step < to; ++step) body(loader.next(), step);
    loader.stop();
  });
}

// Runs steps [from, to) of the data, and returns the last one's numbers.
inline StepOutcome run_steps(TowerTrainer& trainer, const SmallRun& run, const Dataset& data,
                             int64_t from, int64_t to) {
  StepOutcome result;
  for_batches(trainer, run, data, from, to, [&](const Batch& batch, int64_t step) {
    trainer.begin_step(batch, step, run.optimizer.lr);
    while (trainer.under_way() > (step + 1 < to ? trainer.max_ahead() : 0))
      result = trainer.finish_step();
  });
  return result;
}
inline StepOutcome run_steps(TowerTrainer& trainer, const SmallRun& run, int64_t from, int64_t to) {
  return run_steps(trainer, run, run.dataset(), from, to);
}

// Evaluates the data once, in its order.
inline EvaluationSums evaluate(TowerTrainer& trainer, const SmallRun& run, const Dataset& data) {
  LoaderOptions loading = run.loading(trainer.placement().rank);
  loading.shuffle = false;
  BatchLoader loader(data, loading);
  EvaluationSums sums;
  trainer.team().lead([&] {
    trainer.begin_evaluation();
    loader.start(0, 0, 1);
    while (!loader.finished()) trainer.evaluate(loader.next(), sums);
    trainer.end_evaluation();
  });
  return sums;
}

// Restores a state, which rank 0 reads, on all ranks.
inline void restore(TowerTrainer& trainer, const TrainingState& state) {
  bool reads = trainer.placement().rank == 0;
  trainer.team().lead([&] { trainer.restore(state, reads ? &state : nullptr); });
}

// Runs a trainer for each rank, on a thread each, with a socket to every other.
inline void on_ranks(const SmallRun& run, const TowerTrainerOptions& options,
                     const std::function<void(TowerTrainer&)>& body) {
  auto groups = threads_groups(run.ranks);
  run_ranks(run.ranks, [&](int rank) {
    ProcessGroup& group = *groups[static_cast<size_t>(rank)];
    try {
      TowerTrainer trainer(options, run.place(rank), &group);
      body(trainer);
    } catch (const SymmetricError&) {
      throw;  // the other ranks throw it themselves, when they have read what it follows from
    } catch (...) {
      for (auto& other : groups) other->interrupt();
      throw;
    }
  });
}

inline void on_ranks(const SmallRun& run, const std::function<void(TowerTrainer&)>& body) {
  on_ranks(run, run.options(), body);
}

// Runs steps [from, to), from the state if there is one. Returns the parameter hash on rank 0;
// throws Error where a rank ends with another one.
inline uint64_t hash_after(const SmallRun& run, int64_t from, int64_t to,
                           const TrainingState* state) {
  std::vector<uint64_t> hashes(static_cast<size_t>(run.ranks));
  on_ranks(run, [&](TowerTrainer& trainer) {
    if (state) restore(trainer, *state);
    run_steps(trainer, run, from, to);
    trainer.team().lead([&] { trainer.check_replicas(); });
    hashes[static_cast<size_t>(trainer.placement().rank)] = trainer.parameter_hash();
  });
  for (uint64_t hash : hashes) require(hash == hashes[0], "ranks end with different weights");
  return hashes[0];
}
inline uint64_t hash_after(const SmallRun& run, int64_t steps) {
  return hash_after(run, 0, steps, nullptr);
}

inline std::vector<float> weights_of(const TowerTrainer& trainer) {
  return {trainer.weights(), trainer.weights() + trainer.layout().total_floats()};
}

// Returns the weights of rank 0.
inline std::vector<float> weights_after(const SmallRun& run, int64_t steps) {
  std::vector<float> weights;
  on_ranks(run, [&](TowerTrainer& trainer) {
    run_steps(trainer, run, 0, steps);
    if (trainer.placement().rank == 0) weights = weights_of(trainer);
  });
  return weights;
}

// Returns the state that rank 0 would save; all ranks take part. On the leading thread.
inline void take_state(TowerTrainer& trainer, TrainingState& state) {
  trainer.capture_state();
  if (trainer.placement().rank > 0) return;
  trainer.describe(state);
  read_all(trainer.state(), state);
}
inline TrainingState state_after(const SmallRun& run, int64_t steps) {
  TrainingState state;
  on_ranks(run, [&](TowerTrainer& trainer) {
    run_steps(trainer, run, 0, steps);
    TrainingState mine;
    trainer.team().lead([&] { take_state(trainer, mine); });
    if (trainer.placement().rank == 0) state = mine;
  });
  return state;
}

}  // namespace spire
