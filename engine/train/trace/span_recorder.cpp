#include "engine/train/trace/span_recorder.h"

#include <cmath>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/steady_time.h"

namespace spire {

SpanRecorder::SpanRecorder(Stream& stream, SpanSink* next) : stream_(stream), next_(next) {}

std::unique_ptr<Event> SpanRecorder::make_event() {
  if (spare_.empty()) return stream_.make_event(Timing::on);
  std::unique_ptr<Event> event = std::move(spare_.back());
  spare_.pop_back();
  return event;
}

// The event of an idle stream is reached between the two readings.
void SpanRecorder::start() {
  base_ = make_event();
  stream_.record(*base_);  // the first record() of an event may take longer
  stream_.synchronize();
  int64_t before = steady_ns();
  stream_.record(*base_);
  stream_.synchronize();
  base_time_ = before + (steady_ns() - before) / 2;
}

void SpanRecorder::begin(const SpanName& name) {
  if (next_) next_->begin(name);
  Mark& mark = marks_.emplace_back();
  mark.name = name;
  mark.step = step_;
  mark.begin = make_event();
  mark.end = make_event();
  open_.push_back(marks_.size() - 1);
  stream_.record(*mark.begin);
}

void SpanRecorder::end() {
  require(!open_.empty(), "a span ends that has not begun");
  Mark& mark = marks_[open_.back()];
  open_.pop_back();
  stream_.record(*mark.end);
  mark.open = false;
  if (next_) next_->end();
}

std::vector<RecordedSpan> SpanRecorder::take(int64_t step) {
  require(open_.empty(), "spans are taken while one is open");
  std::vector<RecordedSpan> spans;
  std::vector<Mark> others;
  std::unique_ptr<Event> first;
  int64_t first_time = 0;
  for (Mark& mark : marks_) {
    if (mark.step != step) {
      others.push_back(std::move(mark));
      continue;
    }
    auto since = [&](const Event& from, const Event& to) {
      return std::llround(1e9 * stream_.seconds_between(from, to));
    };
    bool is_first = !first;
    if (is_first) {
      first_time = base_time_ + since(*base_, *mark.begin);
      first = std::move(mark.begin);
    }
    int64_t begin = is_first ? first_time : first_time + since(*first, *mark.begin);
    spans.push_back({mark.name.kind, mark.name.text, mark.name.number, step, begin,
                     first_time + since(*first, *mark.end)});
    if (mark.begin) spare_.push_back(std::move(mark.begin));
    spare_.push_back(std::move(mark.end));
  }
  marks_ = std::move(others);
  if (first) {
    spare_.push_back(std::exchange(base_, std::move(first)));
    base_time_ = first_time;
  }
  return spans;
}

}  // namespace spire
