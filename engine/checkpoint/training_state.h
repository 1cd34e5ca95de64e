// State from which a run resumes on any devices: metadata, and fp32 tensors that are read in parts.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spire/metric.h>
#include <spire/tensor.h>

#include "engine/checkpoint/training_state.h"

namespace spire {

struct EarlyStopState {
  int64_t waited = -1;   // evaluations in a row without improvement; -1: no evaluation yet
  double reference = 0;  // value of the metric that these evaluations did not improve on
};

struct TrainingProgress {       // counters of a run, saved and restored as a whole
  int64_t step = 0;             // optimizer steps done
  int64_t samples_seen = 0;     // samples in these steps
  double best_metric = 0;       // meaningless while best_step < 0
  int64_t best_step = -1;       // step of the best evaluation; -1: none yet
  int64_t evaluated_step = -1;  // step of the last evaluation; -1: none yet
  double evaluated_loss = 0;    // loss and metric of that evaluation
  double evaluated_metric = 0;
  std::vector<MetricValue> evaluated_others;  // its metrics of the config's eval.metrics
  EarlyStopState early_stop;
};

// Everything that a checkpoint records besides its tensors.
struct StateMetadata : TrainingProgress {
  int64_t epoch = 0;            // whole epochs done
  int64_t step_in_epoch = 0;    // steps done in the current epoch: where the data continues
  int64_t optimizer_steps = 0;  // the optimizer's own count (Adam's t)
  uint64_t seed = 0;

  int64_t towers = 1;         // these three decide what a run computes; the devices do not
  int64_t batch_size = 1;     // samples per tower per step
  int64_t tower_threads = 1;  // CPU threads per tower

  double loss_scale = 1;         // these four are the state of the loss scale (fp16)
  int64_t loss_scale_steps = 0;  // steps without overflow since it changed
  int64_t skipped_steps = 0, skipped_in_row = 0;

  std::string config_yaml;  // the resolved config
  std::string data_spec;  // columns and classes that the model was trained on: to_text(SampleSpec)
  std::string guard;      // state of the guard against bad steps; empty if it has none
  std::string tuning;     // engines chosen on GPUs: TuningChoices; empty if none
  std::string audit;      // the chain of the run's steps: ChainState; empty if it has none
  std::map<std::string, std::string> versions;  // library -> version; empty on CPUs
  std::string parameter_hash;                   // 16 hex digits, as in summary.json
};

// Calls visit(key, field) for each scalar field, in a fixed order. Writing, reading and the
// checksum all use this list. Fields are int64_t, uint64_t, double or std::string.
template <typename State, typename Visit>
void visit_metadata(State& state, Visit&& visit) {
  visit("step", state.step);
  visit("epoch", state.epoch);
  visit("step_in_epoch", state.step_in_epoch);
  visit("samples_seen", state.samples_seen);
  visit("optimizer_steps", state.optimizer_steps);
  visit("seed", state.seed);
  visit("towers", state.towers);
  visit("batch_size", state.batch_size);
  visit("tower_threads", state.tower_threads);
  visit("loss_scale", state.loss_scale);
  visit("loss_scale_steps", state.loss_scale_steps);
  visit("skipped_steps", state.skipped_steps);
  visit("skipped_in_row", state.skipped_in_row);
  visit("best_metric", state.best_metric);
  visit("best_step", state.best_step);
  visit("evaluated_step", state.evaluated_step);
  visit("evaluated_loss", state.evaluated_loss);
  visit("evaluated_metric", state.evaluated_metric);
  visit("waited_evaluations", state.early_stop.waited);
  visit("waited_from", state.early_stop.reference);
  visit("parameter_hash", state.parameter_hash);
}

// Convert evaluated_others to a line each, "f1_macro=3fe999999999999a", and back.
std::string others_text(const TrainingProgress& progress);
void read_others(const std::string& text, TrainingProgress& progress);

// Write the metadata, without `versions`, `data_spec` and evaluated_others, as text, and read it
// back exactly. Throws Error(unexpected).
std::string metadata_text(const StateMetadata& state);
void read_metadata_text(const std::string& text, StateMetadata& state);

// Returns the hash64, in hex, of this text: "key=value\n" for each field of visit_metadata(),
// "version.library=value\n" for each library by name, then data_spec, config_yaml, tuning, guard,
// audit and others_text(). Integers are decimal; a double is the hex of its bits.
std::string metadata_checksum(const StateMetadata& state);

// Throws Error(checkpoint) for a number that no run writes, so that none is taken for a size.
void require_ranges(const StateMetadata& state);

struct TensorEntry {
  std::string name;  // layer names joined by '.': "conv1.weight"
  Shape shape;
};

// Paths of the groups of tensors, in this order.
inline constexpr const char* weights_group = "/weights";        // the trained parameters
inline constexpr const char* states_group = "/states";          // running statistics
inline constexpr const char* optimizer_groups = "/optimizer/";  // plus the slot: "momentum", "ema"
inline constexpr const char* average_slot = "ema";  // name of the averaged weights (ema.decay)

// Group of tensors. The group of a slot (a kind of optimizer state) has one tensor per trained
// weight, with the weight's name.
struct TensorGroup {
  std::string path;
  std::vector<TensorEntry> tensors;
};

// Tensors of a state, read from a file, a run's devices or the host's memory.
class SavedTensors {
 public:
  virtual ~SavedTensors() = default;

  virtual std::vector<TensorGroup> groups() const = 0;
  // Copies elements [begin, begin + out.size()), row-major, of groups()[group].tensors[tensor].
  // Throws what its source throws.
  virtual void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const = 0;

 protected:
  SavedTensors() = default;
  SavedTensors(const SavedTensors&) = default;
  SavedTensors& operator=(const SavedTensors&) = default;
};

// Returns the index of the group of that path, if there is one.
std::optional<size_t> find_group(const SavedTensors& tensors, const std::string& path);

struct TensorPlace {
  size_t group = 0, tensor = 0;  // indices as SavedTensors::read has them
};
// Returns the place of each weight and running statistic. averaged: true: of a weight's average, if
// it has one; frozen weights have none.
std::vector<TensorPlace> model_tensors(const SavedTensors& tensors, bool averaged);

struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;  // shape.elements() values, row-major
};

// Whole state in the host's memory, for small models and tests.
struct TrainingState : StateMetadata, SavedTensors {
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> states;
  std::vector<std::pair<std::string, std::vector<NamedTensor>>> optimizer;  // slot -> tensors

  std::vector<TensorGroup> groups() const override;
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;
  const std::vector<NamedTensor>& group(size_t index) const;  // the tensors of groups()[index]
};

void read_all(const SavedTensors& tensors, TrainingState& state);  // copies all of `tensors`

// A saved state in which low-rank adapters (models/adapters.h) are merged into the weights of their
// layers: W + factor * B A in place of W, and no adapters. These are the tensors of the model
// without adapters.
class MergedTensors : public SavedTensors {
 public:
  // factor: alpha / rank of the run. averaged: true: merges the adapters' averages, where the state
  // has some. A state without adapters stays as it is. Any thread may read if `saved` allows that.
  MergedTensors(std::shared_ptr<const SavedTensors> saved, double factor, bool averaged);

  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  struct Adapters {
    std::vector<float> a;  // (rank, inputs): each part of W needs all of its rows
    TensorPlace b;         // (outputs, rank)
    int64_t rank = 0, inputs = 0;
  };
  struct Kept {
    size_t tensor = 0;  // in the group of `saved`
    std::optional<Adapters> adapters;
  };
  void add_product(const Adapters& adapters, int64_t begin, std::span<float> out) const;

  std::shared_ptr<const SavedTensors> saved_;
  double factor_;
  std::vector<TensorGroup> groups_;
  std::vector<std::vector<Kept>> kept_;  // of each group
};

}  // namespace spire
