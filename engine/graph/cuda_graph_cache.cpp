#include "engine/graph/cuda_graph_cache.h"

#include <algorithm>

namespace spire::inline graph {

// Entries are found by a linear search: there are only a few.
void CudaGraphCache::run(const Bindings& bindings, PlanListener* listener) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& e) { return e.bindings == bindings; });
  if (stream_.device().kind == DeviceKind::cpu || entry == entries_.end()) {
    plan_.run(bindings, listener);
    if (stream_.device().kind == DeviceKind::cuda) entries_.push_back({bindings, {}});
    return;
  }
  if (entry->segments.empty()) record(*entry, listener != nullptr);
  for (const Segment& segment : entry->segments) {
    stream_.replay(*segment.work);
    if (listener) plan_.notify(segment.end - 1, *listener);
  }
}

// Records one segment per notification, since a replay cannot call the listener within a segment.
// REQUIRES: the same bindings always come with a listener, or always without.
void CudaGraphCache::record(Entry& entry, bool notifies) {
  for (size_t begin = 0, end = 0; begin < plan_.end(); begin = end) {
    end = notifies ? plan_.next_notification(begin) : plan_.end();
    auto work = stream_.record_work([&] { plan_.run_range(entry.bindings, begin, end); });
    entry.segments.push_back({std::move(work), end});
  }
}

}  // namespace spire::inline graph
