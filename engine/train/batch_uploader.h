// What a tower reads of the host, in its device's memory: rows of the batch, and its step's
// numbers. On a CPU rows are read where they lie. For a GPU they are copied on a stream of their
// own, while the tower before still computes, and the host goes on where they lie in pinned memory.
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
  // input_bytes: the most of each input of a plan. slots: one more than the towers that hold what
  // they read at a time, so that the next one's rows come meanwhile. ahead: how many towers the
  // host brings at most before it has seen that the oldest of them is done. The lane's stream
  // outlives this.
  BatchUploader(Stream& stream, MemoryPool& memory, const std::vector<size_t>& input_bytes,
                size_t slots, size_t ahead);
  ~BatchUploader();  // no more copies are under way then
  // What it will allocate on such a device: nothing on a CPU.
  static size_t bytes(DeviceId device, const std::vector<size_t>& input_bytes, size_t slots);

  // Binds the rows, one entry an input, and the step's numbers for what the lane's stream gets
  // next, in a slot that it returns. On a CPU the rows are read where they lie, until release().
  // Pinned rows of a GPU are read until the lane's stream has done what it got before release();
  // rows in other memory have been read on return, for which the host waits.
  size_t upload(std::span<const HostRows> rows, const StepContext& step, Bindings& bindings);
  // Behind the slot's last use: another upload() may overwrite it then. Slots are released in the
  // order in which they were brought.
  void release(size_t slot);

 private:
  struct Slot {
    StepContext step;
    // Of a GPU alone:
    std::vector<std::unique_ptr<DeviceMemory>> inputs;
    std::unique_ptr<DeviceMemory> device_step;
    std::unique_ptr<Event> there, free;
  };
  const StepContext* keep(size_t tower, const StepContext& step);

  Stream& stream_;
  std::unique_ptr<Stream> copies_;  // null on a CPU
  // On a GPU: the steps of the last `ahead` towers, as their copies read them.
  std::unique_ptr<DeviceMemory> steps_;
  std::vector<Slot> slots_;
  size_t ahead_;
  size_t next_ = 0;  // the tower that comes next, of all of them
};

}  // namespace spire::inline training
