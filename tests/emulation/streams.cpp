// Emulated calls of CUDA about streams.
#include "cuda_runtime.h"
#include "machine.h"

using namespace spire::emulation;

namespace {

// On a device a kernel runs from a stream of the current device only.
const Stream& find_here(Machine& machine, cudaStream_t handle) {
  const Stream& stream = machine.find(handle);
  refuse_if(stream->device != current_device(), cudaErrorInvalidResourceHandle);
  return stream;
}

const Stream& find_to_wait(Machine& machine, cudaStream_t handle) {
  const Stream& stream = machine.find(handle);
  if (stream->branch.capture) stream->branch.capture->refuse(cudaErrorStreamCaptureUnsupported);
  machine.refuse_in_capture();
  return stream;
}

bool is_block(dim3 block) {
  bool sides = block.x >= 1 && block.y >= 1 && block.z >= 1 && block.z <= 64;
  return sides && size_t{block.x} * block.y * block.z <= 1024;
}

bool is_grid(dim3 grid) {
  return grid.x >= 1 && grid.x <= 0x7fffffffu && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 &&
         grid.z <= 65535;
}

}  // namespace

namespace spire::emulation {

cudaError_t put_launch(const void* kernel, const cudaLaunchConfig_t& config,
                       std::function<void()> body) {
  bool valid = is_block(config.blockDim) && is_grid(config.gridDim) && !config.dynamicSmemBytes;
  if (!valid) return remember(cudaErrorInvalidConfiguration);
  cudaError_t loaded = load_kernel(kernel);
  if (loaded != cudaSuccess) return loaded;
  return put_kernel(config.stream, [grid = config.gridDim, block = config.blockDim,
                                    body = std::move(body)] { run(grid, block, body); });
}

cudaError_t load_kernel(const void* kernel) {
  return call([&](Machine& machine) { machine.load_kernel(kernel, current_device()); });
}

void count_read(const void* from, size_t bytes) {
  Machine& all = machine();
  int to = all.running_device();
  if (!all.counts_reads || to < 0) return;
  Region region = all.memory.find(from, bytes);
  if (region.side == Side::device && region.device != to) all.traffic[region.device][to] += bytes;
}

cudaError_t put_kernel(cudaStream_t stream, std::function<void()> kernel) {
  return call([&](Machine& machine) { machine.put_once(find_here(machine, stream), kernel); });
}

}  // namespace spire::emulation

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call([&](Machine& machine) {
    refuse_if(flags > cudaStreamNonBlocking, cudaErrorInvalidValue);
    *stream = machine.add_stream(flags == cudaStreamDefault);
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return call([&](Machine& machine) {
    refuse_if(!handle, cudaErrorInvalidResourceHandle);
    Stream stream = machine.find_to_destroy(handle);
    if (auto capture = stream->branch.capture) machine.end(capture);
    machine.finish(stream);
    machine.remove(stream);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call([&](Machine& machine) {
    Stream stream = find_to_wait(machine, handle);
    machine.finish(stream);
    machine.settle(stream->device);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call([&](Machine& machine) {
    Stream stream = find_to_wait(machine, handle);
    machine.step();
    refuse_if(!machine.end_of(stream).reached(), cudaErrorNotReady);
    machine.settle(stream->device);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  return call([&](Machine& machine) {
    const Stream& stream = machine.find(handle);
    refuse_if(!event, cudaErrorInvalidResourceHandle);
    if (!event->recorded()) return;
    if (stream->branch.capture || event->branch.capture) {
      refuse_if(!handle, cudaErrorStreamCaptureImplicit);
      stream->branch.join(event->branch);
    } else {
      machine.put(stream, [] { return true; }, {event->point});
    }
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call([&](Machine& machine) {
    machine.put_once(machine.find(stream),
                     [=, &machine] { machine.outside([=] { function(data); }); });
  });
}
