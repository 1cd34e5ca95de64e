// The emulated devices, for tests.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace spire::emulation {

constexpr int max_devices = 4;

// How many there are: 2 at first, or as EMULATED_GPUS in the environment says, but of these only
// those that CUDA_VISIBLE_DEVICES names by their uuids, in its order; where it names none of them
// all are there. REQUIRES: nothing has been allocated or put on a stream that is not gone.
int device_count();
void set_device_count(int count);

// Which devices reach each other's memory: those of one group; all of them at first, or as
// EMULATED_PEERS says ("none", or groups, "0,1 2,3"). Of what is in no group nobody but itself.
// What was enabled before counts no more.
using PeerGroups = std::vector<std::vector<int>>;
void set_peer_groups(const PeerGroups& groups);

std::string uuid_of(int device);

// Calls that give a lost device work, ask for its memory or wait for it fail with
// cudaErrorECCUncorrectable. Lost is also, in all processes and for good, a device whose uuid is in
// the file that EMULATION_LOST_DEVICES in their environment names, a line each.
void set_lost(int device, bool lost);

// What cudaMalloc may give out on a device, what it has given out included; 16 GiB at first.
size_t memory_limit(int device);
void set_memory_limit(int device, size_t bytes);

// Pinned memory that is given out, and the most that may be; without limit at first.
size_t pinned_memory();
void set_pinned_limit(size_t bytes);

// Asynchronous copies from memory that is not pinned, so far: for each CUDA may have the host wait.
size_t staged_copies();

}  // namespace spire::emulation
