// The emulated machine: streams of work, and who runs next. One for the process.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_runtime_api.h"
#include "devices.h"
#include "draw.h"
#include "graphs.h"
#include "memory.h"

namespace spire::emulation {

using Stream = std::shared_ptr<EmulatedStream>;

// A place in a stream: reached when all that was put before it is done. Of no stream: reached.
struct Point {
  Stream stream;
  uint64_t position = 0;
  bool reached() const;
};

struct Task {
  Work work;
  std::vector<Point> waits;
};

}  // namespace spire::emulation

struct EmulatedStream {
  int device = 0;
  bool blocking = true;  // is in order with the null stream
  std::deque<spire::emulation::Task> tasks{};
  uint64_t put = 0, done = 0;
  bool busy = false;  // its first task is running
  spire::emulation::Branch branch{};
};

struct EmulatedEvent {
  using Clock = std::chrono::steady_clock;
  int device = 0;
  bool timed = true;
  spire::emulation::Point point{};  // of its latest record
  std::shared_ptr<Clock::time_point> time{};
  spire::emulation::Branch branch{};  // of its latest record, then without point
  bool recorded() const { return point.stream || branch.capture; }
};

namespace spire::emulation {

// REQUIRES, everywhere: the thread is inside call().
class Machine {
 public:
  Machine();

  // Throws Refused for one that is not there, and for one of a lost device. nullptr: the current
  // device's null stream.
  const Stream& find(cudaStream_t handle);
  const Stream& find_to_destroy(cudaStream_t handle) const;  // of a lost device, too
  cudaStream_t add_stream(bool blocking);
  void remove(const Stream& stream);

  // `waits` are more than the stream's own order and the null stream's; in a capture there are
  // none.
  void put(const Stream& stream, Work work, std::vector<Point> waits = {});
  void put_once(const Stream& stream, std::function<void()> work);  // through when it returns
  Point end_of(const Stream& stream) const;                         // what was put until now

  // Runs pieces of work, in a random order, until it holds.
  void run_until(const std::function<bool()>& reached);
  void finish(const Stream& stream);
  void finish_device(int device);
  bool step();  // one piece; false where none can run

  void refuse_if_lost(int device);
  // For calls that a capture does not allow.
  void refuse_in_capture();
  void begin(const Stream& stream, std::shared_ptr<Capture> capture);
  void end(const std::shared_ptr<Capture>& capture);

  // Throws what a kernel of the device threw, if one did.
  void settle(int device);

  // Lets other threads in while `function` runs.
  void outside(const std::function<void()>& function);

  Draw draw;
  Memory memory;
  // Whether the hardware lets a device's kernels use the other's memory.
  bool can_reach(int device, int peer) const {
    return device == peer || (group[device] >= 0 && group[device] == group[peer]);
  }
  std::vector<std::string> uuids;    // one a device
  std::atomic<int> device_count{0};  // any thread, at any time
  int group[max_devices] = {};       // of devices that reach each other; -1: none
  bool enabled[max_devices][max_devices] = {};
  size_t staged_copies = 0;
  bool lost[max_devices] = {};  // these do no more work: what was put there is dropped

 private:
  friend class Turn;
  void run_task(const Stream& stream);
  std::vector<Point> null_stream_order(const Stream& stream) const;

  std::mutex mutex_;  // of all of this
  std::condition_variable_any changed_;
  Stream null_streams_[max_devices];
  std::vector<Stream> streams_;  // the first that can run does; shuffled now and then
  std::vector<std::shared_ptr<Capture>> captures_;  // under way
  std::exception_ptr failures_[max_devices];
};

Machine& machine();

// EMULATED_GPUS and EMULATED_PEERS. Throws Error for what they do not say.
void read_environment(Machine& machine);

// One call's time alone with the machine.
class Turn {
 public:
  Turn();
  ~Turn();
};

// Ends a call with an error of CUDA's.
struct Refused {
  cudaError_t code;
};
inline void refuse_if(bool wrong, cudaError_t code) {
  if (wrong) throw Refused{code};
}

cudaError_t remember(cudaError_t code);  // for cudaGetLastError

// A call of the runtime: body(machine()) alone, its refusal as the result.
template <typename Body>
cudaError_t call(const Body& body) {
  try {
    Turn turn;
    body(machine());
    return cudaSuccess;
  } catch (const Refused& refused) {
    return remember(refused.code);
  }
}

int current_device();

}  // namespace spire::emulation
