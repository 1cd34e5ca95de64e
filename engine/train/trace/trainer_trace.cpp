// Who is shown what the trainer's streams do: profilers always, recorders in the steps of a trace.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/fail.h"
#include "engine/train/tower_trainer.h"

namespace spire {
namespace {

template <typename Sink>
SpanSink* sink_at(const std::vector<std::unique_ptr<Sink>>& sinks, size_t index) {
  return index < sinks.size() ? sinks[index].get() : nullptr;
}

}  // namespace

// A lane shows its parts, kernels and buckets, an exchange thread its buckets.
template <typename Sink>
void TowerTrainer::show_spans(const std::vector<std::unique_ptr<Sink>>& sinks) {
  auto lanes = static_cast<size_t>(devices_->lanes());
  for (size_t lane = 0; lane < lanes; ++lane) {
    SpanSink* sink = sink_at(sinks, lane);
    gradients_->show_spans(static_cast<int>(lane), sink);
    for (StepMetrics& metrics : metrics_) metrics.clocks[lane].show_spans(sink);
  }
  for (const LocalMember& member : devices_->members())
    gradients_->show_exchange_spans(member,
                                    sink_at(sinks, lanes + static_cast<size_t>(member.position)));
}

void TowerTrainer::make_profiler_spans() {
  for (int lane = 0; lane < devices_->lanes(); ++lane)
    profilers_.push_back(spire::make_profiler_spans(devices_->stream(lane).device()));
  for (const LocalMember& member : devices_->members())
    profilers_.push_back(spire::make_profiler_spans(devices_->device(member.front).id));
  show_spans(profilers_);
}

void TowerTrainer::begin_trace(int64_t max_spans) {
  require(under_way() == 0 && recorders_.empty(), "a trace begins within a step or a trace");
  max_traced_spans_ = max_spans;
  traced_spans_ = traced_through_ = 0;
  auto add = [this](Stream& stream) {
    size_t index = recorders_.size();
    recorders_.push_back(std::make_unique<SpanRecorder>(stream, profilers_[index].get()));
    traced_.push_back({devices_->status().read(static_cast<int>(index)).thread, {}});
  };
  for (int lane = 0; lane < devices_->lanes(); ++lane) add(devices_->stream(lane));
  for (const LocalMember& member : devices_->members())
    if (Stream* stream = gradients_->exchange_stream(member)) add(*stream);
  for (const auto& recorder : recorders_) recorder->start();
  show_spans(recorders_);
}

std::vector<TracedThread> TowerTrainer::end_trace() {
  require(under_way() == 0, "a trace ends within a step");
  show_spans(profilers_);
  recorders_.clear();
  return std::exchange(traced_, {});
}

void TowerTrainer::record_step(int64_t step) {
  for (const auto& recorder : recorders_) recorder->begin_step(step);
}

// The streams have reached the step's end. Its spans are taken in any case, for their events.
void TowerTrainer::take_trace(int64_t step) {
  bool full = traced_spans_ >= max_traced_spans_;
  for (size_t i = 0; i < recorders_.size(); ++i) {
    auto spans = recorders_[i]->take(step);
    if (full) continue;
    traced_spans_ += std::ssize(spans);
    std::ranges::move(spans, std::back_inserter(traced_[i].spans));
  }
  if (!full) traced_through_ = step;
}

}  // namespace spire
