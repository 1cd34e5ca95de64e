// Measures where the time of a lane's steps goes. A lane marks on its stream where each part of
// StepTimes begins: on a CPU by reading the steady clock, on a GPU by an event (also between
// replayed CUDA graphs).
#pragma once
#include <memory>
#include <vector>

#include <spire/observer.h>

#include "engine/device/spans.h"
#include "engine/device/stream.h"

namespace spire {

// Each lane calls begin(), enter() and end() of its own clock, on its own thread and in this order.
// None of them allocates or waits.
class LaneClock {
 public:
  using Part = double StepTimes::*;  // &StepTimes::forward

  // stream: the lane's; outlives this. towers: number of towers that the lane runs in a step.
  LaneClock(Stream& stream, int towers);

  // Call it between steps. From now on the sink receives the spans of each step and of its parts;
  // null: no sink.
  void show_spans(SpanSink* sink) { spans_ = sink; }

  // A new step begins here. step, name: its number and a literal, for spans.
  void begin(int64_t step = 0, const char* name = "step");
  // From here on the stream's work is this part's, until enter() names another one.
  void enter(Part part);
  void end();  // later work belongs to no part

  // Returns the seconds of each part in the last step. REQUIRES: the stream has reached end().
  StepTimes times() const;
  // Returns the seconds from begin() to an event of the lane's stream that has Timing::on.
  // REQUIRES: the stream has reached it.
  double seconds_until(const Event& event) const { return stream_.seconds_between(*begun_, event); }
  const Event& begun() const { return *begun_; }
  // Returns the seconds from previous.end() to this begin(). previous: the clock of the previous
  // step on the same stream.
  double seconds_since_end_of(const LaneClock& previous) const {
    return stream_.seconds_between(*previous.marks_[previous.marks_used_ - 1].event, *begun_);
  }

 private:
  struct Mark {
    std::unique_ptr<Event> event;
    Part part = nullptr;  // that begins here; null: none
  };

  Stream& stream_;
  std::unique_ptr<Event> begun_;
  std::vector<Mark> marks_;
  size_t marks_used_ = 0;
  SpanSink* spans_ = nullptr;
};

}  // namespace spire
