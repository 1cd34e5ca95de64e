// Emulated calls of CUDA that allocate memory, pin memory and copy.
#include <cstring>

#include <unistd.h>

#include "machine.h"

using namespace spire::emulation;

namespace {

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  Region target{}, source{};

  bool stays_on_device() const { return on_device(target) && on_device(source); }
  bool stays_on_host() const { return !on_device(target) && !on_device(source); }
  bool is_staged() const { return on_device(target) && source.side == Side::pageable; }

  static bool on_device(const Region& region) { return region.side == Side::device; }
};

bool fits(const Copy& copy, cudaMemcpyKind kind) {
  bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  return kind == cudaMemcpyDefault ||
         (Copy::on_device(copy.source) == from_device && Copy::on_device(copy.target) == to_device);
}

Copy check(const Machine& machine, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Copy copy{to, from, bytes, machine.memory.find(to, bytes), machine.memory.find(from, bytes)};
  refuse_if(!to || !from || !fits(copy, kind), cudaErrorInvalidValue);
  return copy;
}

// A copy that hangs is never done.
void spoil(Machine& machine, const Stream& stream, const Copy& copy) {
  if (!copy.stays_on_device()) return;
  CopyFault fault = copy_fault(copy.source.device, copy.target.device);
  if (fault == CopyFault::hangs) machine.put(stream, [] { return false; });
  auto* target = static_cast<unsigned char*>(copy.to);
  if (fault == CopyFault::corrupts) machine.put_once(stream, [=] { target[copy.bytes / 2] ^= 1; });
}

void put_copy(Machine& machine, const Stream& stream, const Copy& copy) {
  auto* source = static_cast<const std::byte*>(copy.from);
  if (copy.source.side == Side::pageable) {
    auto staged = std::make_shared<std::vector<std::byte>>(source, source + copy.bytes);
    machine.put_once(stream, [=] { std::memcpy(copy.to, staged->data(), copy.bytes); });
  } else {
    machine.put_once(stream, [=] { std::memcpy(copy.to, source, copy.bytes); });
  }
  spoil(machine, stream, copy);
}

void wait_for(Machine& machine, const Stream& stream) {
  machine.finish(stream);
  machine.settle(stream->device);
}

// Waits until all work before new work of the stream is done.
void wait_for_turn(Machine& machine, const Stream& stream) {
  machine.put_once(stream, [] {});
  wait_for(machine, stream);
}

void copy_async(Machine& machine, Stream stream, const Copy& copy) {
  bool pageable = copy.source.side == Side::pageable || copy.target.side == Side::pageable;
  if (pageable && stream->branch.capture)
    stream->branch.capture->refuse(cudaErrorStreamCaptureUnsupported);
  machine.staged_copies += copy.is_staged();
  if (copy.stays_on_device() && copy.source.device != copy.target.device)
    machine.traffic[copy.source.device][copy.target.device] += copy.bytes;
  put_copy(machine, stream, copy);
  if (copy.target.side == Side::pageable || copy.stays_on_host()) wait_for(machine, stream);
}

cudaError_t give_pinned(void** memory, size_t bytes) {
  return call([&](Machine& machine) {
    machine.refuse_in_capture();
    *memory = machine.memory.allocate({.side = Side::pinned, .bytes = bytes});
  });
}

void finish_all(Machine& machine) {
  for (int i = 0; i < max_devices; ++i) machine.finish_device(i);
}

}  // namespace

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  return call([&](Machine& machine) {
    *memory = nullptr;
    if (bytes == 0) return;
    machine.refuse_if_lost(current_device());
    machine.refuse_in_capture();
    *memory = machine.memory.allocate({Side::device, current_device(), bytes});
  });
}

cudaError_t cudaFree(void* memory) {
  return call([&](Machine& machine) {
    if (!memory) return;
    machine.refuse_in_capture();
    machine.finish_device(machine.memory.find(memory, 0).device);
    machine.memory.release(memory, Side::device);
  });
}

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  return give_pinned(memory, bytes);
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return give_pinned(memory, bytes);
}

cudaError_t cudaFreeHost(void* memory) {
  return call([&](Machine& machine) {
    if (!memory) return;
    machine.refuse_in_capture();
    finish_all(machine);
    machine.memory.release(memory, Side::pinned);
  });
}

cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned) {
  return call([&](Machine& machine) {
    machine.refuse_in_capture();
    machine.memory.pin(memory, bytes);
  });
}

cudaError_t cudaHostUnregister(void* memory) {
  return call([&](Machine& machine) {
    machine.refuse_in_capture();
    finish_all(machine);
    machine.memory.unpin(memory);
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call([&](Machine& machine) {
    machine.refuse_if_lost(current_device());
    *free = machine.memory.left(current_device());
    *total = machine.memory.limit(current_device());
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return call([&](Machine& machine) {
    if (bytes == 0) return;
    machine.refuse_in_capture();
    Copy copy = check(machine, to, from, bytes, kind);
    Stream null_stream = machine.find(nullptr);
    if (copy.is_staged()) wait_for_turn(machine, null_stream);
    put_copy(machine, null_stream, copy);
    if (!copy.is_staged() && !copy.stays_on_device()) wait_for(machine, null_stream);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call([&](Machine& machine) {
    if (bytes > 0) copy_async(machine, machine.find(stream), check(machine, to, from, bytes, kind));
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  return call([&](Machine& machine) {
    if (bytes == 0) return;
    Copy copy = check(machine, to, from, bytes, cudaMemcpyDeviceToDevice);
    refuse_if(copy.target.device != to_device || copy.source.device != from_device,
              cudaErrorInvalidValue);
    copy_async(machine, machine.find(stream), copy);
  });
}

cudaError_t cudaMemset(void* memory, int byte, size_t bytes) {
  return cudaMemsetAsync(memory, byte, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes, cudaStream_t stream) {
  return call([&](Machine& machine) {
    if (bytes == 0) return;
    refuse_if(machine.memory.find(memory, bytes).side == Side::pageable, cudaErrorInvalidValue);
    machine.put_once(machine.find(stream), [=] { std::memset(memory, byte, bytes); });
  });
}
