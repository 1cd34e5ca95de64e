// All that a run needs to go on: plain layouts, fp32, nothing of devices. A checkpoint file is this
// and nothing else, so any device count can read it. The tensors are large, so they are listed and
// read piece by piece, wherever they lie: in a file, on a run's devices, in the host's memory.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/shape.h"

namespace spire::inline checkpoint {

// All of it but the tensors.
struct StateMetadata {
  int64_t step = 0;           // optimizer steps done
  int64_t epoch = 0;          // whole epochs done
  int64_t step_in_epoch = 0;  // steps done in the current epoch: where the data goes on
  int64_t samples_seen = 0;
  int64_t optimizer_steps = 0;  // the optimizer's own count (Adam's t)
  uint64_t seed = 0;

  int64_t towers = 0;         // these three are part of the run's meaning, not of its hardware
  int64_t batch_size = 0;     // samples a tower a step
  int64_t tower_threads = 0;  // CPU threads a tower

  double loss_scale = 1;         // of fp16; these four are LossScaleState's
  int64_t loss_scale_steps = 0;  // good steps since it changed
  int64_t skipped_steps = 0, skipped_in_row = 0;

  double best_metric = 0;       // meaningless while best_step < 0
  int64_t best_step = -1;       // step of the best evaluation; -1: none yet
  int64_t evaluated_step = -1;  // step of the last evaluation; -1: none yet
  double evaluated_loss = 0;    // these two are meaningless while it is -1
  double evaluated_metric = 0;
  int64_t waited_evaluations = -1;  // without improvement, for early stopping; -1: none at all
  double waited_from = 0;           // the metric they did not improve on
  std::string config_yaml;          // the resolved config
  std::string data_spec;            // what the model was fed with: to_text(SampleSpec)
  std::string tuning;               // engines the run has on GPUs: TuningChoices; empty: none
  std::map<std::string, std::string> versions;  // library -> version; on CPUs none
  std::string parameter_hash;                   // 16 hex digits, as summary.json prints it
};

struct TensorEntry {
  std::string name;  // layer names joined by '.': "conv1.weight"
  Shape shape;
};

// "/weights": what is trained; "/states": running statistics, which are kept but not trained;
// "/optimizer/<slot>" ("momentum"; "m", "v"; "ema": averaged weights): one tensor for each weight,
// under the weight's name. In this order.
struct TensorGroup {
  std::string path;
  std::vector<TensorEntry> tensors;
};

inline constexpr const char* weights_group = "/weights";
inline constexpr const char* states_group = "/states";
inline constexpr const char* optimizer_groups = "/optimizer/";  // and the slot's name

// The tensors of a training state, wherever they lie.
class SavedTensors {
 public:
  virtual ~SavedTensors() = default;

  virtual std::vector<TensorGroup> groups() const = 0;
  // Elements [begin, begin + out.size()), row-major, of one tensor of groups(). Throws Error of a
  // category of the place they are read from.
  virtual void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const = 0;

 protected:
  SavedTensors() = default;
  SavedTensors(const SavedTensors&) = default;
  SavedTensors& operator=(const SavedTensors&) = default;
};

struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;  // shape.elements() of them, row-major
};

// A whole state in the host's memory: for small ones.
struct TrainingState : StateMetadata, SavedTensors {
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> states;
  std::vector<std::pair<std::string, std::vector<NamedTensor>>> optimizer;  // slot -> tensors

  std::vector<TensorGroup> groups() const override;
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;
  // The tensors of a group of groups().
  const std::vector<NamedTensor>& group(size_t index) const;
};

// All of `tensors` into the vectors of `state`.
void read_all(const SavedTensors& tensors, TrainingState& state);

}  // namespace spire::inline checkpoint
