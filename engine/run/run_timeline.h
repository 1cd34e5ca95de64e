// Timeline of a window of a run's steps (trainer --timeline): opens the trace of every rank's
// trainer, and lets rank 0 write one file of them all.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/run/run_context.h"
#include "engine/run/trace_events.h"
#include "engine/train/trace/span_recorder.h"

namespace spire {

// Used on the leading lane's thread, by all ranks alike. Without RunOptions::timeline, and outside
// the window, it does nothing.
class RunTimeline {
 public:
  explicit RunTimeline(RunContext& run) : run_(run) {}

  // Chooses the steps of the window. Call it when the run's progress is that of the checkpoint that
  // it resumes. Throws Error(config) if the file cannot be written, or the run ends earlier.
  void start();
  // Warns if the window is already over. Collective; throws Error(config) if the window differs
  // among the ranks.
  void warn_at_start();

  // Returns whether the window begins or ends when `done` steps are done: no step may be under way
  // then.
  bool is_edge(int64_t done) const;
  void before_step(int64_t step);  // opens the window
  void after_step(int64_t done);   // closes it
  void finish();                   // the run ends, perhaps within the window
  bool is_open() const { return loop_ != nullptr; }

  SpanSink* loop() { return loop_.get(); }  // of the thread that runs the loop; may be null
  const std::string& lost() const { return lost_; }  // a sentence about a file not written

 private:
  bool is_over() const { return closed_ || !first_ || *first_ > last_; }
  void compare_ranks() const;
  void align();
  void close();
  void take_loop(int64_t step);
  int64_t last_of_all(int64_t mine) const;
  void write(TraceEvents& mine, int64_t last);
  void report(int64_t last);

  RunContext& run_;
  std::optional<int64_t> first_;  // step; none: no window
  int64_t last_ = 0;
  bool closed_ = false;
  int64_t origin_ = 0;  // steady clock, ns
  std::unique_ptr<Stream> host_;
  std::unique_ptr<SpanRecorder> loop_;
  TracedThread traced_loop_;
  std::string lost_;
};

}  // namespace spire
