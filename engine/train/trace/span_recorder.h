// Records the spans of one stream, with times: on a CPU readings of the steady clock, on a GPU
// events in the stream, whose times are good to about 1 us.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/spans.h"
#include "engine/device/stream.h"

namespace spire {

struct RecordedSpan {
  SpanKind kind = SpanKind::host;
  std::string text;
  int64_t number = -1;  // below 0: none
  int64_t step = 0;
  int64_t begin = 0, end = 0;  // steady clock of the host, ns
};

struct TracedThread {               // what one stream, or one thread of the host, did
  std::string name;                 // "cuda:0", "cpu:0 lane 1", "exchange"
  std::vector<RecordedSpan> spans;  // in the order of their beginnings
};

// One thread at a time uses it: the stream's, and between steps the leading one.
class SpanRecorder : public SpanSink {
 public:
  // next: is shown all spans, too; may be null. Both arguments outlive this.
  explicit SpanRecorder(Stream& stream, SpanSink* next = nullptr);

  // Waits for the stream's work, and aligns its clock with the host's.
  void start();
  void begin_step(int64_t step) { step_ = step; }  // the step of the next spans

  void begin(const SpanName& name) override;
  void end() override;
  bool wants_kernels() const override { return true; }

  // Returns the closed spans of a step, once. REQUIRES: the stream has reached their ends.
  std::vector<RecordedSpan> take(int64_t step);

 private:
  struct Mark {
    SpanName name;
    int64_t step = 0;
    std::unique_ptr<Event> begin, end;
    bool open = true;
  };
  std::unique_ptr<Event> make_event();

  Stream& stream_;
  SpanSink* next_;
  int64_t step_ = 0;
  std::vector<Mark> marks_;
  std::vector<size_t> open_;                   // indices into marks_
  std::vector<std::unique_ptr<Event>> spare_;  // events of spans that were taken
  // An event that was reached, and its time. A GPU's clock counts from here, so that its rounding
  // does not grow with the length of the window.
  std::unique_ptr<Event> base_;
  int64_t base_time_ = 0;
};

}  // namespace spire
