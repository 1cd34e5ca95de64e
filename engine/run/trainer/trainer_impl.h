// The parts of a Trainer: a run's setup without its files, and the towers' trainer.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/error.h>
#include <spire/trainer.h>
#include <spire/world.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/loader.h"
#include "engine/run/guard.h"
#include "engine/run/run_setup.h"
#include "engine/run/trainer/staged_batch.h"
#include "engine/train/tower_trainer.h"
#include "engine/update/schedule.h"

namespace spire {

class Trainer::Impl {
 public:
  // data: empty: the config's. has_data: its samples can be read. world: outlives this.
  Impl(const RunConfig& config, const DataSource& data, const TrainerOptions& options,
       bool has_data, World& world);

  const RunSetup& setup() const { return setup_; }
  const SampleSpec& data() const { return setup_.data.train->spec(); }
  int64_t global_batch() const { return setup_.placement.global_batch; }
  int64_t steps_done() const { return done_; }
  std::vector<TrainerMemory> memory() const;  // this and the rest as the methods of Trainer
  void release_memory();

  StepResult step(const Samples& samples, std::optional<double> lr);
  EvaluationResult evaluate(const Samples& samples);
  EvaluationResult fit(const FitOptions& options);
  EvaluationResult evaluate();
  std::vector<float> predict(const ColumnRows& rows, int64_t count);
  Shape output_shape() const;
  std::vector<WeightInfo> weights() const;
  void read_weight(const std::string& name, std::span<float> values);
  void write_weight(const std::string& name, std::span<const float> values);
  uint64_t parameter_hash();
  void save(const std::filesystem::path& file);
  void load(const std::filesystem::path& file);

 private:
  class Remarks : public Observer {  // passes the library's remarks on
   public:
    explicit Remarks(std::function<void(std::string_view)> tell) : tell_(std::move(tell)) {}
    void on_note(std::string_view text) override { tell(text); }
    void on_warning(std::string_view text) override { tell(text); }

   private:
    void tell(std::string_view text) {
      if (tell_) tell_(text);
    }
    std::function<void(std::string_view)> tell_;
  };

  TowerTrainerOptions tower_options() const;
  int64_t predict_rows() const;
  template <typename Body>
  void guarded(const Body& body, const bool& spoils = true);
  void take(const StepOutcome& outcome);
  StepResult result_of(const StepOutcome& outcome) const;
  EvaluationResult result_of(const EvaluationSums& sums) const;
  EvaluationResult evaluate_test_data();
  const Batch& next_to_evaluate(bool& spoils);
  void check(const Samples& samples) const;
  void check_count(int64_t count, int64_t all, const char* option) const;
  void need_data(const char* method) const;
  const ParameterEntry& find(const std::string& name, size_t values) const;
  void predict_batches(const std::byte* rows, int64_t count, std::vector<float>& outputs);
  void describe(StateMetadata& state) const;
  void check_loaded(const StateMetadata& state, const std::filesystem::path& file) const;

  TrainerOptions options_;
  World& world_;
  Remarks remarks_;
  RunSetup setup_;
  bool has_data_;
  Schedule schedule_;
  StagedBatch batch_;                                    // before the trainer, which reads it
  std::unique_ptr<BatchLoader> train_data_, test_data_;  // likewise
  TowerTrainerOptions tower_;
  std::unique_ptr<TowerTrainer> trainer_;
  int64_t done_ = 0, samples_seen_ = 0;
  Guard guard_;
  std::optional<Error> spoiled_;  // the error after which there is no valid state
};

}  // namespace spire
