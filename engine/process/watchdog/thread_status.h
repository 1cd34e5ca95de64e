// The current phase of each thread of this process, which the watchdog reads: a lock-free table
// with one row a thread. Entering a phase costs a clock reading and two stores.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spire/error.h>

namespace spire::inline process {

enum class Phase : uint8_t {
  idle,     // nothing to do
  waiting,  // for other threads or ranks: never the cause of a stall
  start,
  data,
  forward,
  backward,
  bucket,  // detail: its index
  update,
  eval,
  device,  // the host waits for a GPU
  checkpoint,
};
std::string phase_text(Phase phase, int64_t detail);  // "forward", "bucket 3", "waiting"

struct PhaseRow {
  std::string thread;  // "cpu:0", "cpu:1 lane 3", "exchange"
  Phase phase = Phase::idle;
  int64_t detail = 0;
  int64_t step = 0;    // the step under way, 1 for the first; 0 before it
  double seconds = 0;  // since the phase was entered
};
// Returns "backward of step 37", "waiting in step 37"; "start" before the first step.
std::string position_text(const PhaseRow& row);

// An exception of a thread with its position in front: "cpu:1, backward of step 7: ...". Exceptions
// without a category become Error(collective): a lost device.
class LaneError : public Error {
 public:
  LaneError(const PhaseRow& position, const std::exception& error);
};

class ThreadStatus {
 public:
  explicit ThreadStatus(std::vector<std::string> threads);

  // Sets the phase of thread `row`. Only that thread calls it.
  void enter(int row, Phase phase, int64_t detail = 0);
  // Runs `wait`, which waits for other threads or ranks, in phase waiting; then returns to the
  // former phase. The same thread.
  void wait(int row, const std::function<void()>& wait);
  void begin_step(int64_t step) { step_.store(step, std::memory_order_relaxed); }

  std::vector<PhaseRow> read() const;  // any thread
  PhaseRow read(int row) const;
  int size() const { return static_cast<int>(names_.size()); }

  // Called inside enter() on the entering thread; its exceptions pass through. Set it before the
  // threads run. For tracing, and for tests that make a phase fail.
  using Hook = std::function<void(const PhaseRow& entered)>;
  void set_hook(Hook hook) { hook_ = std::move(hook); }

 private:
  struct Row {
    std::atomic<uint64_t> word{0};  // phase in the low 8 bits, detail above
    std::atomic<int64_t> since{0};  // steady clock, nanoseconds
  };
  const std::vector<std::string> names_;
  std::unique_ptr<Row[]> rows_;
  std::atomic<int64_t> step_{0};
  Hook hook_;
};

}  // namespace spire::inline process
