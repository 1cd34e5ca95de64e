// Whether a GPU works.
#pragma once

namespace spire::inline device {

// Writes memory of the GPU, copies it there and reads it back. Throws Error(device) for a GPU that
// is not there, Error(collective) for one that fails (is_lost in cuda_error.h) or gives other bytes
// back. A process that has seen a GPU fail learns nothing more by it: ask in another process.
void probe_gpu(int index);

}  // namespace spire::inline device
