// Emulated calls of CUDA about devices: count, properties, peer access; and the settings of
// devices.h.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/device/visible_gpus.h"
#include "machine.h"

namespace spire::emulation {

namespace {
thread_local int device_here = 0;

void set_groups(Machine& machine, const PeerGroups& groups) {
  for (int device = 0; device < max_devices; ++device) {
    machine.group[device] = -1;
    std::fill_n(machine.enabled[device], max_devices, false);
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int device : groups[g]) machine.group[device] = static_cast<int>(g);
  }
}

PeerGroups everyone() {
  PeerGroups groups(1);
  for (int device = 0; device < max_devices; ++device) groups[0].push_back(device);
  return groups;
}

int device_in(const std::string& text) {
  int device = -1;
  std::istringstream(text) >> device;
  require(device >= 0 && device < max_devices, "EMULATED_PEERS: '{}' is none of {} devices", text,
          max_devices);
  return device;
}

// "0,1 2,3"
PeerGroups groups_in(const std::string& text) {
  PeerGroups groups;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    groups.emplace_back();
    std::istringstream devices(word);
    for (std::string device; std::getline(devices, device, ',');)
      groups.back().push_back(device_in(device));
  }
  return groups;
}

std::string uuid_at(int device) {
  return fmt::format("GPU-00000000-0000-0000-0000-{:012x}", device);
}

// Those of the first `count` devices that CUDA_VISIBLE_DEVICES shows.
std::vector<std::string> visible_uuids(int count) {
  std::vector<HostGpu> gpus(static_cast<size_t>(count));
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(uuid_at(i));
    gpus[static_cast<size_t>(i)].number = i;
    gpus[static_cast<size_t>(i)].uuid = all.back();
  }
  const char* names = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!names) return all;
  auto named = [&](const std::string& uuid) {
    return std::string(names).find(uuid) != std::string::npos;
  };
  if (!std::getenv("EMULATED_GPUS") && std::ranges::none_of(all, named)) return all;
  return visible_gpus(std::string(names), gpus).uuids;
}

void set_count(Machine& machine, int count) {
  machine.uuids = visible_uuids(count);
  machine.device_count = static_cast<int>(machine.uuids.size());
}
}  // namespace

void read_environment(Machine& machine) {
  const char* gpus = std::getenv("EMULATED_GPUS");
  int count = gpus ? std::atoi(gpus) : 2;
  require(count >= 1 && count <= max_devices, "EMULATED_GPUS: {}, not 1 to {}", count, max_devices);
  set_count(machine, count);
  const char* peers = std::getenv("EMULATED_PEERS");
  bool none = peers && std::string(peers) == "none";
  set_groups(machine, none ? PeerGroups{} : peers ? groups_in(peers) : everyone());
}

int device_count() {
  return machine().device_count;
}

void set_device_count(int count) {
  set_count(machine(), count);
}

void set_peer_groups(const PeerGroups& groups) {
  Turn turn;
  set_groups(machine(), groups);
}

namespace {
bool is_device(int index) {
  return index >= 0 && index < device_count();
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

CopyFault copy_fault(int from, int to) {
  static const char* faults = std::getenv("EMULATED_FAULTS");
  std::istringstream list(faults ? faults : "");
  for (std::string fault; std::getline(list, fault, ',');) {
    std::istringstream words(fault);
    int source = 0, target = 0;
    char dash = 0;
    std::string effect;
    bool whole = static_cast<bool>(words >> source >> dash >> target >> effect);
    require(whole && (effect == "hangs" || effect == "corrupts"),
            "EMULATED_FAULTS: '{}' is none of '0-1 hangs' and '0-1 corrupts'", fault);
    if (source == from && target == to)
      return effect == "hangs" ? CopyFault::hangs : CopyFault::corrupts;
  }
  return CopyFault::none;
}

std::string uuid_of(int device) {
  return machine().uuids.at(static_cast<size_t>(device));
}

std::string pci_bus_id_of(int device) {
  const char* given = std::getenv("EMULATED_PCI");
  if (!given || std::string(given) != "yes") return "";
  return fmt::format("0000:e{}:00.0", uuid_of(device).back());
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

Books books() {
  Turn turn;
  const Machine& all = machine();
  return {.blocks = all.memory.blocks(),
          .bytes = all.memory.bytes(),
          .streams = all.streams(),
          .events = all.events,
          .graphs = all.graphs};
}

size_t bytes_between(int from, int to) {
  Turn turn;
  return machine().traffic[from][to];
}

void count_traffic(bool on) {
  Turn turn;
  Machine& all = machine();
  all.counts_reads = on;
  if (!on) return;
  for (auto& row : all.traffic) std::ranges::fill(row, size_t{0});
}

void set_load_lock(bool on) {
  Turn turn;
  machine().load_lock = on;
  machine().forget_kernels();
}

size_t staged_copies() {
  Turn turn;
  return machine().staged_copies;
}

}  // namespace spire::emulation

using namespace spire::emulation;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
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
  return call([&](Machine& machine) { *can = device != peer && machine.can_reach(device, peer); });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (!is_device(peer)) return remember(cudaErrorInvalidDevice);
  return call([&](Machine& machine) {
    int self = current_device();
    refuse_if(peer == self, cudaErrorInvalidDevice);
    refuse_if(!machine.can_reach(self, peer), cudaErrorInvalidDevice);
    refuse_if(std::exchange(machine.enabled[self][peer], true), cudaErrorPeerAccessAlreadyEnabled);
  });
}
