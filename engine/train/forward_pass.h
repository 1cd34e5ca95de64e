// Inference on one lane (a thread of a device), from rows in host memory to fp32 output.
#pragma once
#include <string>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/replica.h"

namespace spire {

class ForwardPass {
 public:
  // graph: as built with training = false; only its output "output" is computed. Replica and cuda
  // (null on a CPU) outlive this; the caller allocates and packs the replica before run().
  ForwardPass(Graph graph, const LaneSpec& lane, const ParameterLayout& layout, Replica& replica,
              CudaLibraries* cuda);
  MemoryUse memory() const;
  void allocate(MemoryPool& memory);  // call it before the first run, on the lane's thread

  // Throws Error(config) if the output depends on other inputs than the first; so does run().
  void require_one_input() const;
  // Runs one batch and waits. rows: the first input, in host memory. Call it on the lane's thread.
  void run(const void* rows);
  const Shape& output_shape() const { return output_.shape; }
  // Copies the first `to.size()` numbers of the last run's output, without padding, as fp32.
  void copy_output(std::span<float> to) const;

 private:
  Replica& replica_;
  TensorSpec output_;  // its rows may be padded
  std::unique_ptr<Plan> plan_;
  std::vector<size_t> input_bytes_;         // a single entry
  std::vector<std::string> other_columns_;  // that the output depends on
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceMemory> arena_, host_output_;
  std::unique_ptr<BatchUploader> uploader_;
  Bindings bindings_;
};

}  // namespace spire
