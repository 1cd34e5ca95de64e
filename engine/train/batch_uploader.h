// Uploads what a tower reads from the host: its rows of the batch and the step's numbers. A CPU
// reads rows in place. For a GPU they are copied on a stream of their own while the tower before
// still computes; from pinned memory the host does not wait.
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
  // input_bytes: largest size of each input of a plan. slots: one more than the towers that use
  // their rows at a time, so that the next upload overlaps. ahead: towers that the host uploads at
  // most before the oldest of them is known to be done. The lane's stream outlives this.
  BatchUploader(Stream& stream, MemoryPool& memory, const std::vector<size_t>& input_bytes,
                size_t slots, size_t ahead);
  ~BatchUploader();  // waits for its copies
  // Bytes that it allocates on a device: none on a CPU.
  static size_t bytes(DeviceId device, const std::vector<size_t>& input_bytes, size_t slots);

  // Binds the rows, one entry an input, and the step's numbers for the next work of the lane's
  // stream; returns the slot that holds them. A CPU reads the rows in place until release(). A GPU
  // reads pinned rows until the lane's stream reaches release(); rows in other memory have been
  // read on return, for which the host waits.
  size_t upload(std::span<const HostRows> rows, const StepContext& step, Bindings& bindings);
  // Lets a later upload() overwrite the slot, behind the stream's present work. Slots are released
  // in the order of their uploads.
  void release(size_t slot);

 private:
  struct Slot {
    StepContext step;
    // Of a GPU alone:
    std::vector<std::unique_ptr<DeviceMemory>> inputs;
    std::unique_ptr<DeviceMemory> device_step;
    std::unique_ptr<Event> uploaded, free;
  };
  const StepContext* keep(size_t tower, const StepContext& step);

  Stream& stream_;
  std::unique_ptr<Stream> copies_;  // null on a CPU
  // On a GPU: pinned copies of the last `ahead` towers' steps, which the stream still reads.
  std::unique_ptr<DeviceMemory> steps_;
  std::vector<Slot> slots_;
  size_t ahead_;
  size_t next_ = 0;  // index of the next tower since the start
};

}  // namespace spire::inline training
