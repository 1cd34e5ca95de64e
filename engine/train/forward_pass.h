// Inference on one lane (a thread of a device), from rows in host memory to fp32 output
// (ForwardPass); and OutputReader, which brings outputs of evaluations to the host.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/loader.h"
#include "engine/device/device_memory.h"
#include "engine/device/lane_team.h"
#include "engine/device/stream.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/replica.h"

namespace spire {

// Receives the outputs of an evaluation. Lanes call it at the same time, each for its own rows.
class OutputObserver {
 public:
  virtual ~OutputObserver() = default;

  // outputs: (samples, ..) row-major, of rows first_row, first_row + 1, ... of the global batch.
  virtual void on_outputs(const Batch& batch, int64_t first_row, int64_t samples,
                          std::span<const float> outputs) = 0;
};

// Copies the first `to.size()` numbers of a tensor in host memory as fp32, without the padding of
// its rows.
void copy_rows(const TensorSpec& spec, const void* from, std::span<float> to);

class OutputReader {  // of one lane
 public:
  // largest: of the tensors that read() gets. The stream outlives this.
  OutputReader(const TensorSpec& largest, Stream& stream);

  // Waits for the stream, and returns all numbers of a tensor on its device; valid until the next
  // call.
  std::span<const float> read(const TensorSpec& spec, const void* from);

 private:
  Stream& stream_;
  std::unique_ptr<DeviceMemory> staged_;  // pinned, so that the copy needs no staging of a driver's
  std::vector<float> floats_;
};

class ForwardPass {
 public:
  // graph: as built with training = false; only its output "output" is computed. Replica and cuda
  // (null on a CPU) outlive this; the caller allocates and packs the replica before run().
  ForwardPass(Graph graph, const LaneSpec& lane, const ParameterLayout& layout, Replica& replica,
              CudaLibraries* cuda);
  MemoryUse memory() const;
  void allocate(MemoryPool& memory);  // call it before the first run, on the lane's thread

  // Throws Error(config) if the output depends on other inputs than the first.
  void require_one_input() const;
  // The inputs that run() takes: the first, and all up to the last that the output depends on.
  size_t input_count() const { return input_bytes_.size(); }
  // Runs one batch and waits. rows: of each input, in host memory; weights: one like the replica of
  // the constructor, packed. Call it on one thread at a time, with the lane's device current.
  void run(std::span<const void* const> rows, const Replica& weights);
  // The same for a model of one input, with the replica itself. Throws as require_one_input().
  void run(const void* rows);
  const Shape& output_shape() const { return output_.shape; }
  // Copies the first `to.size()` numbers of the last run's output, without padding, as fp32.
  void copy_output(std::span<float> to) const;

 private:
  Replica& replica_;
  TensorSpec output_;  // its rows may be padded
  std::unique_ptr<Plan> plan_;
  std::vector<size_t> input_bytes_;
  std::vector<std::string> other_columns_;  // that the output depends on
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceMemory> arena_, host_output_;
  std::unique_ptr<BatchUploader> uploader_;
  std::vector<TowerRows> rows_;  // of the present run
  Bindings bindings_;
};

}  // namespace spire
