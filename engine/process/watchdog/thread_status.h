// A lock-free table of the current phase of each thread of this process, read by the watchdog.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spire/error.h>
#include <spire/world.h>

namespace spire {

// Returns whether its type is neither Error nor one that tells of the machine (bad_alloc,
// system_error): nearly always, code of the program has thrown it.
bool is_foreign(const std::exception& error);

// An exception of a thread, its text preceded by the thread's position: "cpu:1, backward of step 7:
// ...". An exception without a category becomes Error(collective), as if a device were lost.
class LaneError : public Error {
 public:
  // Called while `error` is caught.
  LaneError(const PhaseRow& position, const std::exception& error);

  // The exception itself, if it is foreign; else null.
  const std::exception_ptr& cause() const { return cause_; }

 private:
  std::exception_ptr cause_;
};

class ThreadStatus {
 public:
  explicit ThreadStatus(std::vector<std::string> threads);

  // Sets the phase of thread `row`. Only that thread calls it. detail: as in PhaseRow.
  void enter(int row, Phase phase, int64_t detail = 0);
  // Calls `wait`, which waits for other threads or ranks, in Phase::waiting, then returns to the
  // former phase. Only thread `row` calls it.
  void wait(int row, const std::function<void()>& wait);
  void begin_step(int64_t step) { step_.store(step, std::memory_order_relaxed); }

  std::vector<PhaseRow> read() const;  // any thread
  PhaseRow read(int row) const;
  int size() const { return static_cast<int>(names_.size()); }

  // Called inside enter() on the entering thread, for tracing and for tests that make a phase fail;
  // its exceptions pass through. Set it before the threads run.
  using Hook = PhaseHook;
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

}  // namespace spire
