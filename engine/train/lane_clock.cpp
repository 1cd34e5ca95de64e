#include "engine/train/lane_clock.h"

#include "engine/base/fail.h"
#include "engine/observe/records.h"

namespace spire {
namespace {

// A part's name, which is a literal.
const char* name_of(LaneClock::Part part) {
  for (const StepPart& known : step_parts)
    if (known.seconds == part) return known.name.data();
  return "part";
}

}  // namespace

// A tower enters copy, forward and backward once each; after them come reduce, update (sums),
// reduce again, update, replicate and the end.
LaneClock::LaneClock(Stream& stream, int towers)
    : stream_(stream),
      begun_(stream.make_event(Timing::on)),
      marks_(3 * static_cast<size_t>(towers) + 6) {
  for (Mark& mark : marks_) mark.event = stream.make_event(Timing::on);
}

void LaneClock::begin(int64_t step, const char* name) {
  marks_used_ = 0;
  stream_.record(*begun_);
  if (spans_) spans_->begin({SpanKind::step, name, step});
}

void LaneClock::enter(Part part) {
  if (marks_used_ > 0 && marks_[marks_used_ - 1].part == part) return;
  require(marks_used_ < marks_.size(), "a step has more than {} parts", marks_.size());
  bool within = spans_ && marks_used_ > 0 && marks_[marks_used_ - 1].part;
  if (within) spans_->end();
  Mark& mark = marks_[marks_used_++];
  mark.part = part;
  stream_.record(*mark.event);
  if (spans_ && part) spans_->begin({SpanKind::part, name_of(part)});
}

void LaneClock::end() {
  enter(nullptr);
  if (spans_) spans_->end();
}

StepTimes LaneClock::times() const {
  StepTimes times;
  for (size_t m = 0; m + 1 < marks_used_; ++m)
    times.*marks_[m].part += stream_.seconds_between(*marks_[m].event, *marks_[m + 1].event);
  return times;
}

}  // namespace spire
