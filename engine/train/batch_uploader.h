// Uploads a tower's rows of the batch and the step's numbers. A CPU reads rows in place; for a GPU
// they are copied on a separate stream while the tower before still computes.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/graph/plan.h"

namespace spire::inline training {

struct HostRows {
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

class BatchUploader {
 public:
  // input_bytes: largest size of each input of a plan. slots: towers that use their rows at a time,
  // and one to upload into. ahead: towers that the host may upload before the oldest of them is
  // known to be done. The lane's stream outlives this.
  BatchUploader(Stream& stream, MemoryPool& memory, const std::vector<size_t>& input_bytes,
                size_t slots, size_t ahead);
  ~BatchUploader();  // waits for its copies
  static size_t bytes(DeviceId device, const std::vector<size_t>& input_bytes,
                      size_t slots);  // that it allocates on the device: none on a CPU

  // Binds the rows, one entry an input, and the step's numbers for the next work of the lane's
  // stream; returns their slot. A CPU reads the rows in place until release(), a GPU pinned rows
  // until the lane's stream reaches release(); for other memory the host waits until it is read.
  size_t upload(std::span<const HostRows> rows, const StepContext& step, Bindings& bindings);
  // Lets a later upload() overwrite the slot, behind the stream's present work; in upload order.
  void release(size_t slot);

 private:
  struct Slot {
    StepContext step;
    std::vector<std::unique_ptr<DeviceMemory>> inputs;  // this and the rest: of a GPU alone
    std::unique_ptr<DeviceMemory> device_step;
    std::unique_ptr<Event> uploaded, free;
  };
  const StepContext* keep(size_t tower, const StepContext& step);

  Stream& stream_;
  std::unique_ptr<Stream> copies_;       // null on a CPU
  std::unique_ptr<DeviceMemory> steps_;  // of a GPU, pinned: the last `ahead` towers' numbers
  std::vector<Slot> slots_;
  size_t ahead_;
  size_t next_ = 0;  // index of the next tower since the start
};

}  // namespace spire::inline training
