// Settings of the emulated devices, for tests.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace spire::emulation {

constexpr int max_devices = 128;

// The number of devices: 2 at first, or EMULATED_GPUS of the environment; of these only the devices
// that CUDA_VISIBLE_DEVICES names, in its order. Without EMULATED_GPUS it only counts if it names
// one of them by uuid, as it may be about the machine's own GPUs.
// REQUIRES, to set it: no memory and no stream is in use.
int device_count();
void set_device_count(int count);

// Groups of devices that reach each other's memory: all of them at first, or EMULATED_PEERS of the
// environment ("none", or groups, "0,1 2,3"). A device in no group reaches only its own memory.
// Setting the groups disables all peer access.
using PeerGroups = std::vector<std::vector<int>>;
void set_peer_groups(const PeerGroups& groups);

// EMULATED_FAULTS of the environment, "0-1 hangs, 2-0 corrupts", spoils copies from one device to
// another: such a copy never ends, or changes a byte.
enum class CopyFault { none, hangs, corrupts };
CopyFault copy_fault(int from, int to);

std::string uuid_of(int device);
// "0000:e1:00.0" for the second of all, with EMULATED_PCI=yes in the environment; else "".
std::string pci_bus_id_of(int device);

// Marks a device as lost: calls that give it work, ask for its memory or wait for it fail with
// cudaErrorECCUncorrectable. A device is also lost, in all processes and for good, if the file that
// EMULATION_LOST_DEVICES names has a line with its uuid.
void set_lost(int device, bool lost);

// The most that cudaMalloc allocates on a device, in bytes in use; 16 GiB at first.
size_t memory_limit(int device);
void set_memory_limit(int device, size_t bytes);

// Pinned memory in use, and its limit; none at first.
size_t pinned_memory();
void set_pinned_limit(size_t bytes);

// What the program has and has not given back yet, on all devices.
struct Books {
  size_t blocks = 0, bytes = 0;  // of memory on devices and pinned memory, also of registered one
  size_t streams = 0, events = 0, graphs = 0;  // graphs: also those ready to be launched

  bool operator==(const Books&) const = default;
};
Books books();

// Bytes that a device has got from another one since count_traffic(true): by copies, and until
// count_traffic(false) by loads (__ldcs) of kernels.
size_t bytes_between(int from, int to);
void count_traffic(bool on);

// Whether a kernel's first launch on a device takes a lock that all devices share while it waits
// for the device, as a driver may do in each process. Off at first, for ranks that are threads.
// Forgets what is loaded.
void set_load_lock(bool on);

// Number of asynchronous copies from pageable memory so far: CUDA may let the host wait for each.
size_t staged_copies();

}  // namespace spire::emulation
