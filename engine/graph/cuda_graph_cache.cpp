#include "engine/graph/cuda_graph_cache.h"

#include <algorithm>

namespace spire::inline graph {

void CudaGraphCache::run(const Bindings& bindings, PlanListener* listener) {
  auto known = std::find_if(known_.begin(), known_.end(),
                            [&](const Known& k) { return k.bindings == bindings; });
  if (stream_.device().kind == DeviceKind::cpu || known == known_.end()) {
    plan_.run(bindings, listener);
    if (stream_.device().kind == DeviceKind::cuda) known_.push_back({bindings, {}});
    return;
  }
  if (known->pieces.empty()) record(*known, listener != nullptr);
  for (const Piece& piece : known->pieces) {
    stream_.replay(*piece.work);
    if (listener) plan_.notify(piece.end - 1, *listener);
  }
}

// REQUIRES: the same bindings always come with a listener, or always without.
void CudaGraphCache::record(Known& known, bool tells) {
  for (size_t begin = 0, end = 0; begin < plan_.end(); begin = end) {
    end = tells ? plan_.next_word(begin) : plan_.end();
    auto work = stream_.record_work([&] { plan_.run_range(known.bindings, begin, end); });
    known.pieces.push_back({std::move(work), end});
  }
}

}  // namespace spire::inline graph
