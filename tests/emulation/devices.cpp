// Calls that have to do with devices.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "machine.h"

namespace spire::emulation {

namespace {
thread_local int device_here = 0;

bool is_device(int index) {
  return index >= 0 && index < visible_devices();
}

std::vector<std::string> read_visible() {
  std::vector<std::string> all;
  for (int i = 0; i < device_count; ++i)
    all.push_back("GPU-00000000-0000-0000-0000-00000000000" + std::to_string(i));
  const char* names = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!names) return all;
  std::vector<std::string> visible;
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');)
    if (std::ranges::find(all, name) != all.end()) visible.push_back(name);
  return visible.empty() ? all : visible;  // other names are those of the machine's own GPUs
}

const std::vector<std::string>& visible() {
  static const auto* uuids = new std::vector<std::string>(read_visible());
  return *uuids;
}

bool is_lost_by_file(int device) {
  static const char* path = std::getenv("EMULATION_LOST_DEVICES");
  if (!path) return false;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line == uuid_of(device)) return true;
  return false;
}
}  // namespace

int visible_devices() {
  return static_cast<int>(visible().size());
}

std::string uuid_of(int device) {
  return visible().at(static_cast<size_t>(device));
}

void set_lost(int device, bool lost) {
  Turn turn;
  machine().lost[device] = lost;
}

void Machine::refuse_if_lost(int device) {
  lost[device] = lost[device] || is_lost_by_file(device);
  refuse_if(lost[device], cudaErrorECCUncorrectable);
}

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
  *count = visible_devices();
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
    machine.refuse_if_lost(current_device());
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
