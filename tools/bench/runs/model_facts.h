// What a benchmark says of a model without running it.
#pragma once
#include <cstdint>
#include <string>

#include <spire/run_config.h>

namespace spire {

struct ModelFacts {
  std::string model;            // "resnet"
  int64_t parameters = 0;       // trainable numbers
  int64_t batch_size = 0;       // samples per tower per step
  double flops_per_sample = 0;  // of forward and backward: 2 per multiply-add
};

// config: of a variant. Builds the graph of a tower, without compiling it. Work that
// memory.recompute repeats does not count. Throws as train() does before its first step.
ModelFacts model_facts(const RunConfig& config);

}  // namespace spire
