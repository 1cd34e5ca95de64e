#include "engine/device/stream_barrier.h"

namespace spire::inline device {

StreamBarrier::StreamBarrier(LaneTeam& team, std::vector<Stream*> streams)
    : team_(team), streams_(std::move(streams)), turn_(streams_.size(), 0) {
  for (auto& events : events_) {
    for (Stream* stream : streams_) events.push_back(stream->make_event());
  }
}

void StreamBarrier::meet(int lane) {
  auto mine = static_cast<size_t>(lane);
  auto& events = events_[turn_[mine]];
  turn_[mine] = 1 - turn_[mine];
  streams_[mine]->record(*events[mine]);
  team_.barrier();
  for (size_t other = 0; other < events.size(); ++other) {
    if (other != mine) streams_[mine]->wait_for(*events[other]);
  }
}

}  // namespace spire::inline device
