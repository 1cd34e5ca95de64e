// The emulated devices, for tests.
#pragma once
#include <cstddef>

namespace spire::emulation {

constexpr int device_count = 2;

// What cudaMalloc may give out on a device, what it has given out included; 16 GiB at first.
size_t memory_limit(int device);
void set_memory_limit(int device, size_t bytes);

// Pinned memory that is given out, and the most that may be; without limit at first.
size_t pinned_memory();
void set_pinned_limit(size_t bytes);

// Asynchronous copies from memory that is not pinned, so far: for each CUDA may have the host wait.
size_t staged_copies();

}  // namespace spire::emulation
