#include "tools/bench/runs/measure.h"

#include <algorithm>

#include <spire/train.h>

#include "engine/base/fail.h"
#include "engine/observe/records.h"
#include "tools/bench/runs/energy.h"

namespace spire {
namespace {

// Collects the reports of the steps after the warm-up.
class StepTimer : public Observer {
 public:
  StepTimer(const MeasureOptions& options, EnergyMeter* energy)
      : options_(options), energy_(energy) {}

  void on_step(const StepReport& step) override {
    if (step.step == 1) {
      std::chrono::duration<double> since = std::chrono::steady_clock::now() - options_.started;
      result_.first_step_seconds = since.count();
    }
    // The timed steps begin where the last step of the warm-up ends.
    if (step.step == options_.warmup) samples_before_ = step.samples_seen;
    if (step.step == options_.warmup && energy_) energy_->start();
    if (step.step <= options_.warmup) return;
    if (step.step == options_.warmup + options_.steps && energy_)
      result_.joules = energy_->joules();
    seconds_ += step.step_ms / 1e3;
    samples_ = step.samples_seen - samples_before_;
    result_.times += step.times * (1 / static_cast<double>(options_.steps));
  }

  Measurement result() const {
    Measurement result = result_;
    result.samples_per_s = static_cast<double>(samples_) / seconds_;
    result.step_seconds = seconds_ / static_cast<double>(options_.steps);
    return result;
  }

 private:
  const MeasureOptions& options_;
  EnergyMeter* energy_;  // null: another process reads the machine's counters
  Measurement result_;
  double seconds_ = 0;
  int64_t samples_before_ = 0, samples_ = 0;
};

MemoryOfKinds device_memory(MemoryOfKinds bytes) {
  bytes.erase("host_rss");
  return bytes;
}

void add(MemoryOfKinds& sum, const MemoryOfKinds& memory) {
  for (const auto& [kind, bytes] : memory) sum[kind] += bytes;
}

}  // namespace

Measurement measure(const RunConfig& config, const MeasureOptions& options, World* world) {
  require(options.steps >= 1 && options.warmup >= 1, "{} timed steps after {}", options.steps,
          options.warmup);
  RunOptions run;
  run.dry_run = options.warmup + options.steps;
  run.only_steps = true;
  run.world = world;
  run.on_exit_timeout = options.on_exit_timeout;
  EnergyMeter energy(counted_gpus(config));
  bool reads = !world || world->rank() == 0;
  StepTimer timer(options, reads ? &energy : nullptr);
  RunSummary summary = train(config, run, timer).summary;
  Measurement result = timer.result();
  result.parameter_hash = summary.parameter_hash;
  result.planned_memory = device_memory(summary.planned_memory_bytes);
  result.peak_memory = device_memory(summary.peak_memory_bytes);
  result.peak_rss = summary.peak_memory_bytes.at("host_rss");
  return result;
}

Measurement combined(std::span<const Measurement> ranks) {
  Measurement all = ranks.front();
  all.times = {};
  for (const Measurement& rank : ranks)
    all.times += rank.times * (1 / static_cast<double>(ranks.size()));
  for (const Measurement& rank : ranks.subspan(1)) {
    require(rank.parameter_hash == all.parameter_hash,
            "the processes of one run ended with different weights: {} and {}", all.parameter_hash,
            rank.parameter_hash);
    all.first_step_seconds = std::max(all.first_step_seconds, rank.first_step_seconds);
    add(all.planned_memory, rank.planned_memory);
    add(all.peak_memory, rank.peak_memory);
    all.peak_rss += rank.peak_rss;
  }
  return all;
}

}  // namespace spire
