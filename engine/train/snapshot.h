// All that a run needs to go on, in host memory: plain layouts, fp32, nothing of devices.
// A checkpoint file is this and nothing else, so any device count can read it.
#pragma once
#include <spire/base/shape.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace spire {

struct NamedTensor {
  std::string name;  // layer names joined by '.': "conv1.weight"
  Shape shape;
  std::vector<float> values;  // shape.elements() of them, row-major
};

struct TrainingState {
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> states;  // running statistics: what is kept but not trained
  // Slot ("momentum"; "m", "v"; "ema": averaged weights) -> one tensor for each weight, under the
  // weight's name.
  std::vector<std::pair<std::string, std::vector<NamedTensor>>> optimizer;

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

}  // namespace spire
