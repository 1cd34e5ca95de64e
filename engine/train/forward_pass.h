// A model that only runs forward: from rows of its input to its output, on one lane.
#pragma once
#include "engine/device/lane_team.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/replica.h"

namespace spire::inline training {

class ForwardPass {
 public:
  // graph: in evaluation form, with the output "output"; all its other outputs are dropped. The
  // replica outlives this; it is allocated after this is made, and its forms packed for evaluation
  // before it runs.
  // cuda: of the lane's device, if that is a GPU; outlives this.
  ForwardPass(Graph graph, const LaneSpec& lane, const ParameterLayout& layout, Replica& replica,
              CudaLibraries* cuda);
  MemoryUse memory() const;
  void allocate(MemoryPool& memory);  // before the first run; on the lane's thread

  // On the lane's thread. rows: of the graph's first input, as many as it was built for. They are
  // read, and the output is made, when it returns.
  void run(const void* rows);
  const Shape& output_shape() const { return output_.shape; }
  // The first `to.size()` numbers of the last run's output, as fp32.
  void copy_output(std::span<float> to) const;

 private:
  Replica& replica_;
  TensorSpec output_;  // its rows may be padded
  std::unique_ptr<Plan> plan_;
  std::vector<size_t> input_bytes_;  // one
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceMemory> arena_, host_output_;
  std::unique_ptr<BatchUploader> feed_;
  Bindings bindings_;
};

}  // namespace spire::inline training
