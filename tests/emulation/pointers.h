// Checks of pointers by the emulated libraries, for the alignments that NVIDIA's are promised.
#pragma once
#include <cstdint>
#include <initializer_list>

#include "engine/base/fail.h"
#include "engine/device/device_memory.h"

namespace spire::emulation {

inline bool is_aligned(const void* pointer, size_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

// Throws Error(unexpected) for a misaligned pointer or no workspace. Tensors may be null.
inline void check_alignment(const char* library, std::initializer_list<const void*> tensors,
                            const void* workspace) {
  require(workspace && is_aligned(workspace, workspace_alignment),
          "{}: the workspace must lie at a multiple of {} bytes", library, workspace_alignment);
  for (const void* tensor : tensors)
    require(is_aligned(tensor, tensor_alignment), "{}: tensors must lie at multiples of {} bytes",
            library, tensor_alignment);
}

}  // namespace spire::emulation
