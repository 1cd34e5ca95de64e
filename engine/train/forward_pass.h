// Runs a model forward on one lane, from rows of its input to its output.
#pragma once
#include "engine/device/lane_team.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/replica.h"

namespace spire::inline training {

class ForwardPass {
 public:
  // graph: in evaluation form; only its output "output" is kept. Replica and cuda (null on a CPU)
  // outlive this; the replica is allocated later, and packed for evaluation before run().
  ForwardPass(Graph graph, const LaneSpec& lane, const ParameterLayout& layout, Replica& replica,
              CudaLibraries* cuda);
  MemoryUse memory() const;
  void allocate(MemoryPool& memory);  // before the first run; on the lane's thread

  // Runs the batch at `rows`, of the graph's first input, and waits. On the lane's thread.
  void run(const void* rows);
  const Shape& output_shape() const { return output_.shape; }
  // Copies the first `to.size()` numbers of the last run's output, as fp32.
  void copy_output(std::span<float> to) const;

 private:
  Replica& replica_;
  TensorSpec output_;  // its rows may be padded
  std::unique_ptr<Plan> plan_;
  std::vector<size_t> input_bytes_;  // one
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceMemory> arena_, host_output_;
  std::unique_ptr<BatchUploader> uploader_;
  Bindings bindings_;
};

}  // namespace spire::inline training
