// Clock of a lane (a thread that runs towers on its device): divides its steps into the parts of
// StepTimes by marks on its stream. On a CPU a mark is a reading of the steady clock, on a GPU an
// event in the stream, also between CUDA graphs that are replayed.
#pragma once
#include <memory>
#include <vector>

#include <spire/observer.h>

#include "engine/device/spans.h"
#include "engine/device/stream.h"

namespace spire::inline training {

// The lane calls begin(), enter() and end(), which allocate nothing and wait for nothing.
class LaneClock {
 public:
  using Part = double StepTimes::*;  // &StepTimes::forward

  // stream: the lane's; outlives this. towers: number of towers that the lane runs in a step.
  LaneClock(Stream& stream, int towers);

  // Between steps: from now on the sink is shown each step and its parts; null: nobody.
  void show_spans(SpanSink* sink) { spans_ = sink; }

  void begin(int64_t step = 0);  // a new step; step: its number, for spans
  // From here on the stream's work is this part's, until enter() names another one.
  void enter(Part part);
  void end();  // later work belongs to no part

  // Returns the seconds of each part in the last step. REQUIRES: the stream has reached end().
  StepTimes times() const;

 private:
  struct Mark {
    std::unique_ptr<Event> event;
    Part part = nullptr;  // that begins here; null: none
  };

  Stream& stream_;
  std::vector<Mark> marks_;
  size_t marks_used_ = 0;
  SpanSink* spans_ = nullptr;
};

}  // namespace spire::inline training
