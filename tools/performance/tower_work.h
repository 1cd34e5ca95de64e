// The graph of a run's tower (a share of the global batch) without a device: shapes and
// FLOPs are the same on all devices.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/run/run_setup.h"
#include "engine/train/model_graph.h"
#include "tools/performance/op_work.h"

namespace spire {

struct TowerWork {
  std::string model;             // "resnet"
  int64_t batch = 0;             // samples of the tower
  int64_t parameters = 0;        // trainable numbers
  int64_t slots = 0;             // floats of optimizer state per weight
  DType precision = DType::f32;  // of activations
  ParameterLayout layout;
  LoweredGraph lowered;  // forward and backward

  std::vector<OpWork> ops() const { return work_of(lowered.graph, lowered.gradients); }
  double flops_per_sample() const;  // 2 per multiply-add
};

// once: without the ops that memory.recompute repeats.
TowerWork tower_work(const RunSetup& setup, bool once = false);
// The same for the config on one CPU device. Throws as train() does before its first step.
TowerWork tower_work(const RunConfig& config, bool once = false);

}  // namespace spire
