// parallel_for: a loop over [0, n) in at most `threads` contiguous chunks, on the calling lane's
// own OpenMP team. The cut depends on n, grain and threads alone, so results do too.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include <omp.h>

namespace spire::inline kernels {

// body(begin, end, chunk). Chunks are multiples of `grain` (the last one aside).
template <typename Body>
void parallel_for(int threads, int64_t n, int64_t grain, const Body& body) {
  int64_t grains = (n + grain - 1) / grain;
  int64_t chunks = std::clamp<int64_t>(grains, 1, threads);
  if (chunks <= 1) {
    body(int64_t{0}, n, 0);
    return;
  }
  int64_t per_chunk = (grains + chunks - 1) / chunks * grain;
  // The OpenMP runtime starts and joins the team; ThreadSanitizer cannot see that, but sees this.
  std::atomic<int64_t> order{0};
  order.store(0, std::memory_order_release);
  int team = static_cast<int>(chunks);
#pragma omp parallel for num_threads(team) schedule(static, 1)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    order.load(std::memory_order_acquire);
    int64_t begin = std::min(n, chunk * per_chunk);
    body(begin, std::min(n, begin + per_chunk), static_cast<int>(chunk));
    order.fetch_add(1, std::memory_order_release);
  }
  order.load(std::memory_order_acquire);
}

}  // namespace spire::inline kernels
