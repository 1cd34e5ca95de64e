// Uploads a tower's rows of the global batch and the step's numbers to a device. A CPU reads rows
// in place; for a GPU they are copied on a separate stream while the previous tower still computes.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/graph/plan.h"

namespace spire {

struct TowerRows {  // of a column, on the host or on a GPU
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

class BatchUploader {
 public:
  // stream: the lane's; outlives this. input_bytes: the largest size of each input of a plan.
  // slots: number of towers that use their rows at the same time, plus one to upload into. ahead:
  // number of towers that the host may upload before it knows that the oldest of them is done.
  BatchUploader(Stream& stream, MemoryPool& memory, const std::vector<size_t>& input_bytes,
                size_t slots, size_t ahead);
  ~BatchUploader();  // waits for its copies
  // Returns the bytes that an uploader allocates on the device; 0 on a CPU.
  static size_t bytes(DeviceId device, const std::vector<size_t>& input_bytes, size_t slots);

  // Sets `bindings` to the rows (one entry per input) and the step's numbers, for the next work on
  // the lane's stream; returns their slot. A CPU reads the rows until release(); a GPU reads pinned
  // rows, and those on a GPU, until the lane's stream reaches release(), and pageable ones before
  // this call returns.
  size_t upload(std::span<const TowerRows> rows, const StepContext& step, Bindings& bindings);
  // Lets later uploads use the slot after the stream's present work. Call it in upload order.
  void release(size_t slot);

 private:
  struct Slot {
    StepContext step;
    std::vector<std::unique_ptr<DeviceMemory>> inputs;  // unused on a CPU, like the members below
    std::unique_ptr<DeviceMemory> device_step;
    std::unique_ptr<Event> uploaded, free;
  };
  const StepContext* keep(size_t tower, const StepContext& step);

  Stream& stream_;
  std::unique_ptr<Stream> copies_;       // null on a CPU
  std::unique_ptr<DeviceMemory> steps_;  // pinned memory for the last `ahead` steps
  std::vector<Slot> slots_;
  size_t ahead_;
  size_t next_ = 0;  // number of uploads so far
};

}  // namespace spire
