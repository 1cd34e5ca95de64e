// Emulated calls of CUDA about events.
#include "machine.h"

using namespace spire::emulation;

namespace {

constexpr int pieces_a_query = 64;  // so that whoever polls gets ahead

void check_to_wait(Machine& machine, cudaEvent_t event) {
  refuse_if(!event, cudaErrorInvalidResourceHandle);
  machine.refuse_if_lost(event->device);
  if (event->branch.capture) event->branch.capture->refuse(cudaErrorCapturedEvent);
  machine.refuse_in_capture();
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call([&](Machine& machine) {
    refuse_if(flags > (cudaEventBlockingSync | cudaEventDisableTiming), cudaErrorInvalidValue);
    bool timed = !(flags & cudaEventDisableTiming);
    *event = new EmulatedEvent{.device = current_device(), .timed = timed};
    ++machine.events;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&](Machine& machine) {
    refuse_if(!event, cudaErrorInvalidResourceHandle);
    delete event;
    --machine.events;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return call([&](Machine& machine) {
    const Stream& stream = machine.find(handle);
    refuse_if(!event || event->device != stream->device, cudaErrorInvalidResourceHandle);
    event->branch = stream->branch;
    event->point = {};
    event->time = nullptr;
    if (stream->branch.capture) return;
    auto time = std::make_shared<EmulatedEvent::Clock::time_point>();
    machine.put_once(stream, [time] { *time = EmulatedEvent::Clock::now(); });
    event->time = time;
    event->point = machine.end_of(stream);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call([&](Machine& machine) {
    check_to_wait(machine, event);
    machine.run_until([point = event->point] { return point.reached(); });
    machine.settle(event->device);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call([&](Machine& machine) {
    check_to_wait(machine, event);
    for (int i = 0; i < pieces_a_query && !event->point.reached(); ++i) {
      if (!machine.step()) break;
    }
    refuse_if(!event->point.reached(), cudaErrorNotReady);
    machine.settle(event->device);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call([&](Machine&) {
    bool comparable = start && end && start->timed && end->timed && start->time && end->time &&
                      start->device == end->device;
    refuse_if(!comparable, cudaErrorInvalidResourceHandle);
    refuse_if(!start->point.reached() || !end->point.reached(), cudaErrorNotReady);
    using Milliseconds = std::chrono::duration<float, std::milli>;
    *milliseconds = Milliseconds(*end->time - *start->time).count();
  });
}
