// Brings a model's output for a tower's samples to the host, as fp32, for those who look at it.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/data/loader.h"
#include "engine/device/device_memory.h"
#include "engine/device/stream.h"
#include "engine/graph/graph.h"

namespace spire {

// Is shown the outputs of an evaluation. Lanes call it at the same time, each for its own rows.
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

}  // namespace spire
