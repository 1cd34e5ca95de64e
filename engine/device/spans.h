// Named spans of a stream's work, which nest: a step, its parts, kernels, buckets. They go to the
// timeline of some steps, and on GPUs to profilers.
#pragma once
#include <cstdint>
#include <memory>

#include "engine/device/device.h"

namespace spire {

enum class SpanKind : uint8_t {
  step,    // one optimizer step; number: of the step
  part,    // of a step, as in StepTimes
  op,      // one kernel of a plan; number: of the tower
  bucket,  // sum or exchange of a bucket of gradients; number: of the bucket
  wait,    // for other lanes, devices or processes
  host,    // work of the thread that runs the loop over steps
};

struct SpanName {
  SpanKind kind = SpanKind::host;
  const char* text = "";  // lives as long as the trainer
  int64_t number = -1;    // below 0: none
};

// Receives the spans of one stream, on the thread that uses it. Each begin() has an end(), in the
// order of a stack.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void begin(const SpanName& name) = 0;
  virtual void end() = 0;
  // True: it wants the span of every kernel, so CUDA graphs are not replayed meanwhile.
  virtual bool wants_kernels() const { return false; }
};

class Span {  // lasts from construction to destruction; sink: may be null
 public:
  Span(SpanSink* sink, const SpanName& name) : sink_(sink) {
    if (sink_) sink_->begin(name);
  }
  ~Span() {
    if (sink_) sink_->end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  SpanSink* sink_;
};

// Returns a sink that shows spans to a profiler as NVTX ranges of the thread; without a profiler a
// span costs a test of a pointer. Returns null for a CPU, and in a build without CUDA.
std::unique_ptr<SpanSink> make_profiler_spans(DeviceId device);

}  // namespace spire
