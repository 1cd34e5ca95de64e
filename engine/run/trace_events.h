// What the processes of a run did in some steps, as JSON in the Trace Event Format, which Perfetto
// (ui.perfetto.dev) and chrome://tracing read:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/train/trace/span_recorder.h"

namespace spire {

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

}  // namespace spire
