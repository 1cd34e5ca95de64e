// Timeline of a window of a run's steps (trainer --timeline): opens the trace of every rank's
// trainer, and lets rank 0 write one file of them all.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/run/run_context.h"
#include "engine/train/trace/span_recorder.h"

namespace spire {

// What the processes of a run did in some steps, as JSON in the Trace Event Format, which Perfetto
// (ui.perfetto.dev) and chrome://tracing read:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

struct TracedProcess {
  int rank = 0;                       // its `pid`
  std::string name;                   // "rank 1 (host b, pid 77)"
  int64_t origin = 0;                 // steady clock, ns, at which `ts` is 0
  std::vector<TracedThread> threads;  // `tid` is the index
};

// The process's events, one per line, separated by commas: names of the process and its threads
// ("M"), and a complete event ("X") for each span, with ts and dur in us. The events of a thread
// nest. They come in pieces of whole events, so that a long trace is never one text.
class TraceEvents {
 public:
  // piece_bytes: a piece ends with the event that reaches it.
  explicit TraceEvents(TracedProcess process, size_t piece_bytes = 256 << 10)
      : process_(std::move(process)), piece_bytes_(piece_bytes) {}

  std::string next();  // piece, without a comma at its ends; "" when there is none left

 private:
  std::vector<std::string> names() const;

  TracedProcess process_;
  size_t piece_bytes_;
  size_t thread_ = 0, span_ = 0;  // of the next event
  bool named_ = false;
};

struct TraceFacts {             // becomes "otherData" of the file
  int64_t first = 0, last = 0;  // steps
  bool on_gpus = false;
  std::string run;  // output directory
};

// The file is: trace_begin, the pieces of events separated by trace_between, trace_end(facts).
inline constexpr std::string_view trace_begin = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
inline constexpr std::string_view trace_between = ",\n";
std::string trace_end(const TraceFacts& facts);

// Used on the leading lane's thread, by all ranks alike. Without RunOptions::timeline, and outside
// the window, it does nothing.
class RunTimeline {
 public:
  explicit RunTimeline(RunContext& run) : run_(run) {}

  // Chooses the steps of the window, after a resumed run has taken over its checkpoint's progress.
  // Throws Error(config) if the file cannot be written, or if the run ends before the window.
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
