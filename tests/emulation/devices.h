// The emulated devices, for tests.
#pragma once
#include <cstddef>

namespace spire::emulation {

constexpr int device_count = 2;

// What cudaMalloc may give out on a device, what it has given out included; 16 GiB at first.
size_t memory_limit(int device);
void set_memory_limit(int device, size_t bytes);

}  // namespace spire::emulation
