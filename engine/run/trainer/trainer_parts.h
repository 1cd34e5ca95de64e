// The parts of a Trainer: a run's setup without its files, and the towers' trainer.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include <spire/error.h>
#include <spire/trainer.h>
#include <spire/world.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "engine/data/loader.h"
#include "engine/run/guard.h"
#include "engine/run/run_setup.h"
#include "engine/run/trainer/staged_batch.h"
#include "engine/train/tower_trainer.h"
#include "engine/update/schedule.h"

namespace spire {

struct Trainer::Parts {
  // Makes the parts; if one process fails, all throw the same error. If `data` is empty, the
  // config's dataset is used. has_data: false: `data` has columns but no samples (callers_data()).
  // plans: the trainer is compiled and planned, but has no memory.
  static std::unique_ptr<Parts> make(const RunConfig& config, const DataSource& data,
                                     const TrainerOptions& options, bool has_data,
                                     bool plans = false);
  // world: outlives this.
  Parts(const RunConfig& config, const DataSource& data, const TrainerOptions& options,
        bool has_data, World& world, bool plans);

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

  // The calls of one thread, while it lives; throws Error(config) during those of another.
  class Turn {
   public:
    explicit Turn(Parts& parts);
    ~Turn() {
      if (taken_) taken_->store({});
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<std::thread::id>* taken_ = nullptr;
  };

  const SampleSpec& data() const { return setup.data.train->spec(); }
  TowerTrainerOptions tower_options() const;
  int64_t predict_rows() const;
  // Runs `body` on the leading lane; if it throws, all processes throw the same error. spoils: read
  // after an error, so that `body` may change it. If it is true, or if there are several processes,
  // no valid state is left, and all later calls throw.
  template <typename Body>
  void guarded(const Body& body, const bool& spoils = true) {
    lead_guarded([&] { body(); }, spoils);
  }
  void lead_guarded(const std::function<void()>& body, const bool& spoils);
  Error error_of(const std::exception& error, const PhaseRow& at) const;
  void take(const StepOutcome& outcome, const Batch* loaded = nullptr);  // loaded: by train_data
  StepResult result_of(const StepOutcome& outcome) const;
  EvaluationResult result_of(const EvaluationSums& sums) const;
  EvaluationResult evaluate_test_data();
  const Batch& next_to_evaluate(bool& spoils);
  std::vector<GivenRows> checked(const Samples& samples) const;
  void check_count(int64_t count, int64_t all, const char* option) const;
  void need_data(const char* method) const;
  static void check_rate(double lr, const char* where);
  void check_process() const;
  const Batch& fill(const Samples& samples, const char* method);
  std::vector<TrainerMemory> memory() const;
  void need_gradients(const char* method) const;
  void need_no_gradients(const char* method) const;
  const ParameterEntry& find(const std::string& name) const;
  const ParameterEntry& find(const std::string& name, size_t values) const;
  void predict_batches(const GivenRows& rows, int64_t count, std::vector<float>& outputs);
  // Calls write(metadata) on rank 0, when the state is ready, and returns on all processes.
  void save(const std::function<void(const StateMetadata&)>& write);
  // Calls write(tensors, metadata) on rank 0, and returns on all processes.
  template <typename Write>
  void save_weights(const Write& write);
  void load(const std::function<CheckpointFile()>& open, const std::string& name);
  void check_loaded(const StateMetadata& state, const std::string& file) const;

  std::unique_ptr<World> alone;  // of a process that trains alone; the other parts end before it
  TrainerOptions options;
  World& world;
  Remarks remarks;
  RunSetup setup;
  bool has_data;
  Schedule schedule;
  std::optional<StagedBatch> batch;                    // before the trainer, which reads it
  std::unique_ptr<BatchLoader> train_data, test_data;  // likewise
  TowerTrainerOptions tower;
  std::unique_ptr<TowerTrainer> trainer;
  int64_t done = 0, samples_seen = 0;
  bool in_fit = false;         // a callback of fit() may be running
  bool has_gradients = false;  // between compute_gradients() and the end of the step
  Guard guard;
  std::atomic<std::thread::id> user = {};  // the thread whose call has begun
  std::optional<Error> spoiled;            // the error after which there is no valid state
  const pid_t process = ::getpid();        // a child of fork() has none of its threads
};

}  // namespace spire
