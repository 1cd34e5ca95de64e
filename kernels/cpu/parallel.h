// Parallel loop over [0, n) on the OpenMP team of the calling lane (a thread that runs towers). The
// chunks, and so the results, depend only on n, grain and the number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include <omp.h>

namespace spire {

// Calls body(begin, end, chunk) for at most `threads` contiguous chunks; all but the last have a
// multiple of `grain` elements. A single chunk runs on the calling thread without OpenMP.
template <typename Body>
void parallel_for(int threads, int64_t n, int64_t grain, const Body& body) {
  int64_t grains = (n + grain - 1) / grain;
  int64_t chunks = std::clamp<int64_t>(grains, 1, threads);
  if (chunks <= 1) {
    body(int64_t{0}, n, 0);
    return;
  }
  int64_t per_chunk = (grains + chunks - 1) / chunks * grain;
  // libgomp is not instrumented, so ThreadSanitizer does not see that it starts and joins the team.
  // These atomics show it the same order.
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

// Returns the sum of term(begin, end) over the chunks of parallel_for(), in their order: the bits
// do not depend on which thread is first. partial: scratch memory, a Sums for each thread.
template <typename Sums, typename Term>
Sums sum_chunks(Sums* partial, int threads, int64_t n, int64_t grain, const Term& term) {
  std::fill_n(partial, threads, Sums{});
  parallel_for(threads, n, grain,
               [&](int64_t begin, int64_t end, int chunk) { partial[chunk] = term(begin, end); });
  Sums total{};
  for (int chunk = 0; chunk < threads; ++chunk) total += partial[chunk];
  return total;
}

}  // namespace spire
