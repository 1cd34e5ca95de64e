// The packed forms in which kernels read parameters. Not part of kernel.h, because CUDA files
// include kernel.h, and std::function compiles slowly there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace spire {

// The form (layout and dtype) in which a kernel reads a parameter. The device's replica (its copy
// of the weights) makes it from the plain fp32 weights, once for all kernels with an equal `form`:
// after each update if training reads it, before each evaluation if only that does, once for frozen
// parameters. A kernel asks for packings by Kernel::reading() and then gets the packed bytes in
// KernelArgs::inputs in place of the plain parameter.
struct Packing {
  int input = 0;     // index of the op's input, which must be a parameter
  std::string form;  // names layout and dtype; equal names mean equal bytes
  size_t bytes = 0;
  int64_t units = 1;  // equal shares of the weights that threads may pack concurrently
  // Packs the units [first, last) of `plain`, fp32 in the plain layout. Both pointers are to whole
  // tensors in the device's memory; stream is as in KernelArgs. Allocates nothing.
  std::function<void(const float* plain, void* packed, int64_t first, int64_t last, void* stream)>
      pack_units;
  // If not 0, unit i reads only the plain weights [i * unit_floats, (i + 1) * unit_floats), and the
  // last unit all that remain. 0: a unit may read any of them.
  int64_t unit_floats = 0;

  void pack(const float* plain, void* packed, void* stream = nullptr) const {
    pack_units(plain, packed, 0, units, stream);
  }
};

}  // namespace spire
