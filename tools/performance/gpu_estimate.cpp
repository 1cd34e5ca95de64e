#include "tools/performance/gpu_estimate.h"

#include "tools/performance/step_estimate.h"

namespace spire {

GpuEstimate estimate_on_gpu(const RunConfig& config, const std::string& gpu) {
  StepEstimate estimate = estimate_step(config, gpu);
  GpuEstimate result{.gpu = estimate.gpu.name, .seconds = 0, .text = to_text(estimate)};
  for (const OpEstimate& op : estimate.ops) result.seconds += op.seconds;
  return result;
}

}  // namespace spire
