// The emulated machine, one for the process: streams of work, and the order in which they run.
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
#include <set>
#include <utility>
#include <vector>

#include "cuda_runtime_api.h"
#include "devices.h"
#include "draw.h"
#include "graphs.h"
#include "memory.h"

namespace spire::emulation {

using Stream = std::shared_ptr<EmulatedStream>;

// A position in a stream: reached when all work put before it is done. Without a stream: reached.
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

// All streams, events and memory. REQUIRES, for all functions: the thread is inside call().
class Machine {
 public:
  Machine();

  // Returns the stream of a handle; nullptr is the current device's null stream. Throws Refused for
  // an unknown stream and for one of a lost device.
  const Stream& find(cudaStream_t handle);
  const Stream& find_to_destroy(cudaStream_t handle) const;  // also of a lost device
  cudaStream_t add_stream(bool blocking);
  void remove(const Stream& stream);

  // Appends work to a stream. `waits`: points that it waits for, beside the stream's own order and
  // the null stream's; none in a capture.
  void put(const Stream& stream, Work work, std::vector<Point> waits = {});
  void put_once(const Stream& stream, std::function<void()> work);  // done when it returns
  Point end_of(const Stream& stream) const;                         // behind all work put so far

  // Runs work of all streams, in a random order, until `reached` returns true.
  void run_until(const std::function<bool()>& reached);
  void finish(const Stream& stream);
  void finish_device(int device);
  bool step();  // runs one piece of work; false if none can run
  // Device of the kernel that runs; -1: none runs.
  int running_device() const { return running_device_; }
  void load_kernel(const void* kernel, int device);
  void forget_kernels() { loaded_.clear(); }

  void refuse_if_lost(int device);
  // Throws Refused if a capture forbids the call.
  void refuse_in_capture();
  void begin(const Stream& stream, std::shared_ptr<Capture> capture);
  void end(const std::shared_ptr<Capture>& capture);

  // Throws the error of a kernel of the device, if there is one.
  void settle(int device);

  // Lets other threads use the machine while `function` runs.
  void outside(const std::function<void()>& function);

  Draw draw;
  Memory memory;
  // Returns true if a device's kernels can use the other's memory.
  bool can_reach(int device, int peer) const {
    return device == peer || (group[device] >= 0 && group[device] == group[peer]);
  }
  std::vector<std::string> uuids;    // one a device
  std::atomic<int> device_count{0};  // any thread, at any time
  int group[max_devices] = {};       // devices of one group reach each other; -1: in no group
  bool enabled[max_devices][max_devices] = {};
  size_t staged_copies = 0;
  size_t traffic[max_devices][max_devices] = {};  // bytes, [from][to]
  bool counts_reads = false;                      // of kernels
  bool load_lock = false;                         // set_load_lock()
  size_t events = 0, graphs = 0;                  // that exist
  size_t streams() const { return streams_.size(); }
  bool lost[max_devices] = {};  // such devices drop all work

 private:
  friend class Turn;
  void run_task(const Stream& stream);
  std::vector<Point> null_stream_order(const Stream& stream) const;

  std::mutex mutex_;  // guards all members
  std::condition_variable_any changed_;
  Stream null_streams_[max_devices];
  std::vector<Stream> streams_;  // the first one that can run is next; shuffled now and then
  std::vector<std::shared_ptr<Capture>> captures_;  // under way
  int running_device_ = -1;
  std::set<std::pair<const void*, int>> loaded_;  // kernels, by device
  bool loading_ = false;                          // some thread has the load lock
  int loaders_ = 0;                               // threads that have it or want it
  uint64_t pieces_done_ = 0;                      // of all streams
  std::exception_ptr failures_[max_devices];
};

Machine& machine();

// Reads EMULATED_GPUS and EMULATED_PEERS. Throws Error if they are malformed.
void read_environment(Machine& machine);

// A lock on the machine for one call.
class Turn {
 public:
  Turn();
  ~Turn();
};

// Thrown to end a call with an error of CUDA.
struct Refused {
  cudaError_t code;
};
inline void refuse_if(bool wrong, cudaError_t code) {
  if (wrong) throw Refused{code};
}

cudaError_t remember(cudaError_t code);  // for cudaGetLastError

// Runs body(machine()) under the lock. Returns the error that it throws, if any.
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
