#include "engine/train/batch_uploader.h"

#include <numeric>

#include <spire/error.h>

namespace spire {

BatchUploader::BatchUploader(Stream& stream, MemoryPool& memory,
                             const std::vector<size_t>& input_bytes, size_t slots, size_t ahead)
    : stream_(stream), slots_(slots), ahead_(ahead) {
  DeviceId device = stream.device();
  if (device.kind == DeviceKind::cpu) return;
  copies_ = make_stream(device);
  steps_ = allocate_staging(device, ahead * sizeof(StepContext));
  for (Slot& slot : slots_) {
    for (size_t bytes : input_bytes)
      slot.inputs.push_back(memory.allocate(MemoryKind::activations, bytes));
    slot.device_step = memory.allocate(MemoryKind::activations, sizeof(StepContext));
    slot.uploaded = stream.make_event();
    slot.free = stream.make_event();
  }
}

// An error here is the device's, and an earlier call has thrown it.
BatchUploader::~BatchUploader() {
  if (!copies_) return;
  try {
    copies_->synchronize();
  } catch (const Error&) {
  }
}

// Copies a step to where the GPU may still read it after upload() returns.
const StepContext* BatchUploader::keep(size_t tower, const StepContext& step) {
  return &(steps_->as<StepContext>()[tower % ahead_] = step);
}

size_t BatchUploader::upload(std::span<const TowerRows> rows, const StepContext& step,
                             Bindings& bindings) {
  size_t tower = next_++, index = tower % slots_.size();
  Slot& slot = slots_[index];
  if (!copies_) {
    slot.step = step;
    bindings.step = &slot.step;
    for (size_t i = 0; i < rows.size(); ++i) bindings.inputs[i] = rows[i].data;
    return index;
  }
  copies_->wait_for(*slot.free);  // of the tower that used the slot before
  for (size_t i = 0; i < rows.size(); ++i) {
    copies_->copy(slot.inputs[i]->data(), rows[i].data, rows[i].bytes);
    bindings.inputs[i] = slot.inputs[i]->data();
  }
  copies_->copy(slot.device_step->data(), keep(tower, step), sizeof step);
  bindings.step = slot.device_step->as<StepContext>();
  // Events order the two streams: the lane's waits for the copies, as they waited for slot.free.
  copies_->record(*slot.uploaded);
  stream_.wait_for(*slot.uploaded);
  return index;
}

void BatchUploader::release(size_t slot) {
  if (copies_) stream_.record(*slots_[slot].free);
}

size_t BatchUploader::bytes(DeviceId device, const std::vector<size_t>& input_bytes, size_t slots) {
  if (device.kind == DeviceKind::cpu) return 0;
  return slots * std::accumulate(input_bytes.begin(), input_bytes.end(), sizeof(StepContext));
}

}  // namespace spire
