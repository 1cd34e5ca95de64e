// What the processes of a run did in some steps, as JSON in the Trace Event Format, which Perfetto
// (ui.perfetto.dev) and chrome://tracing read:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/train/trace/span_recorder.h"

namespace spire::inline run {

struct TracedProcess {
  int rank = 0;                       // its `pid`
  std::string name;                   // "rank 1 (host b, pid 77)"
  int64_t origin = 0;                 // steady clock, ns, at which `ts` is 0
  std::vector<TracedThread> threads;  // `tid` is the index
};

// Returns the process's events, one a line, with a comma between two: names of the process and its
// threads ("M"), then a complete event ("X") for each span, with ts and dur in us. The events of a
// thread nest.
std::string trace_events(const TracedProcess& process);

struct TraceFacts {             // becomes "otherData" of the file
  int64_t first = 0, last = 0;  // steps
  bool on_gpus = false;
  std::string run;  // output directory
};

// Returns the file, of the events of all processes.
std::string trace_file(std::span<const std::string> events, const TraceFacts& facts);

}  // namespace spire::inline run
