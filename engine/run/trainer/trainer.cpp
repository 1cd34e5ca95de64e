// Trainer: forwards to its parts, and makes them, so that all processes fail alike.
#include <utility>

#include <spire/trainer.h>

#include "engine/base/thread.h"
#include "engine/run/trainer/callers_data.h"
#include "engine/run/trainer/trainer_impl.h"
#include "engine/train/failure.h"

namespace spire {

// The world of a process that trains alone comes first: the parts end before it.
struct Trainer::Parts {
  Parts(const RunConfig& config, const DataSource& data, const TrainerOptions& options,
        bool has_data) {
    if (options.predict_rows && *options.predict_rows < 0)
      fail(Category::config, "TrainerOptions::predict_rows: {} is negative", *options.predict_rows);
    if (config.guard.on_bad_step == GuardConfig::OnBadStep::rollback)
      fail(Category::config,
           "guard.on_bad_step: rollback goes back to a run's checkpoints, which a Trainer does not "
           "write; use skip, or stop");
    if (!options.world) alone = join_world({}, {.cores = allowed_cores()});
    World& world = options.world ? *options.world : *alone;
    try {
      impl.emplace(config, data, options, has_data, world);
    } catch (const std::exception& error) {
      throw to_error(settle_failure(error, PhaseRow(), world));
    }
  }

  std::unique_ptr<World> alone;
  std::optional<Impl> impl;
};

Trainer::Trainer(const RunConfig& config, const SampleSpec& data, const TrainerOptions& options) {
  check_config_for_batches(config, options);
  parts_ = std::make_unique<Parts>(config, callers_data(data, options), options, false);
}

Trainer::Trainer(const RunConfig& config, const TrainerOptions& options)
    : parts_(std::make_unique<Parts>(config, DataSource(), options, true)) {}

Trainer::Trainer(const RunConfig& config, const DataSource& data, const TrainerOptions& options)
    : parts_(std::make_unique<Parts>(config, data, options, true)) {}

Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

const RunConfig& Trainer::config() const {
  return parts_->impl->setup().config;
}
std::vector<std::string> Trainer::devices() const {
  std::vector<std::string> names;
  for (const PlacedDevice& device : parts_->impl->setup().placement.devices)
    names.push_back(to_string(device.id));
  return names;
}
std::vector<TrainerMemory> Trainer::memory() const {
  return parts_->impl->memory();
}
void Trainer::release_memory() {
  parts_->impl->release_memory();
}
const SampleSpec& Trainer::data() const {
  return parts_->impl->data();
}
int64_t Trainer::global_batch() const {
  return parts_->impl->global_batch();
}
int64_t Trainer::steps_done() const {
  return parts_->impl->steps_done();
}
StepResult Trainer::step(const Samples& batch, std::optional<double> lr) {
  return parts_->impl->step(batch, lr);
}
EvaluationResult Trainer::evaluate(const Samples& samples) {
  return parts_->impl->evaluate(samples);
}
EvaluationResult Trainer::fit(const FitOptions& options) {
  return parts_->impl->fit(options);
}
EvaluationResult Trainer::evaluate() {
  return parts_->impl->evaluate();
}
std::vector<float> Trainer::predict(const ColumnRows& rows, int64_t count) {
  return parts_->impl->predict(rows, count);
}
Shape Trainer::output_shape() const {
  return parts_->impl->output_shape();
}
std::vector<WeightInfo> Trainer::weights() const {
  return parts_->impl->weights();
}
void Trainer::read_weight(const std::string& name, std::span<float> values) {
  parts_->impl->read_weight(name, values);
}
void Trainer::write_weight(const std::string& name, std::span<const float> values) {
  parts_->impl->write_weight(name, values);
}
uint64_t Trainer::parameter_hash() {
  return parts_->impl->parameter_hash();
}
void Trainer::save(const std::filesystem::path& file) {
  parts_->impl->save(file);
}
void Trainer::load(const std::filesystem::path& file) {
  parts_->impl->load(file);
}

}  // namespace spire
