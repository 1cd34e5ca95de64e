// The emulated devices, for tests.
#pragma once
#include <cstddef>
#include <string>

namespace spire::emulation {

constexpr int device_count = 2;

// As the environment of the process has it: CUDA_VISIBLE_DEVICES names the devices that it has, by
// their uuids and in its order; where it names none of them all are there.
int visible_devices();
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
