#include "engine/device/gpu_probe.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include <spire/error.h>

#include "engine/device/device_memory.h"
#include "engine/device/stream.h"

namespace spire::inline device {

void probe_gpu(int index) {
  const DeviceId gpu{DeviceKind::cuda, index};
  std::vector<uint32_t> written(size_t{1} << 18), read(written.size());
  std::iota(written.begin(), written.end(), 0x9e3779b9u);
  const size_t bytes = written.size() * sizeof(uint32_t);
  make_current(gpu);
  auto stream = make_stream(gpu);
  auto first = allocate_memory(gpu, bytes), second = allocate_memory(gpu, bytes);
  first->write(written.data(), bytes);
  stream->copy(second->data(), first->data(), bytes);
  stream->synchronize();
  second->read(read.data(), bytes);
  if (read != written)
    fail(Category::collective,
         "{}: its memory does not return what was written to it; replace the GPU or leave it out",
         to_string(gpu));
}

}  // namespace spire::inline device
