// Calls that have to do with devices.
#include <utility>

#include "machine.h"

namespace spire::emulation {

namespace {
thread_local int device_here = 0;

bool is_device(int index) {
  return index >= 0 && index < device_count;
}
}  // namespace

int current_device() {
  return device_here;
}

size_t memory_limit(int device) {
  Turn turn;
  return machine().memory.limit(device);
}

void set_memory_limit(int device, size_t bytes) {
  Turn turn;
  machine().memory.set_limit(device, bytes);
}

size_t pinned_memory() {
  Turn turn;
  return machine().memory.pinned();
}

void set_pinned_limit(size_t bytes) {
  Turn turn;
  machine().memory.set_pinned_limit(bytes);
}

size_t staged_copies() {
  Turn turn;
  return machine().staged_copies;
}

}  // namespace spire::emulation

using namespace spire::emulation;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = device_here;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return remember(cudaErrorInvalidDevice);
  device_here = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return call([](Machine& machine) {
    machine.refuse_in_capture();
    machine.finish_device(current_device());
    machine.settle(current_device());
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return remember(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return call([&](Machine& machine) {
    refuse_if(!is_device(peer) || peer == current_device(), cudaErrorInvalidDevice);
    bool& enabled = machine.reaches_peer[current_device()][peer];
    refuse_if(std::exchange(enabled, true), cudaErrorPeerAccessAlreadyEnabled);
  });
}
