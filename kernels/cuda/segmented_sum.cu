#include <bit>

#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/segmented_sum.h"

namespace spire {
namespace {

constexpr int sort_threads = 256;
constexpr int sort_warps = sort_threads / warp_threads;
constexpr int sort_digits = sort_threads;  // thread d has the count of digit d
constexpr int64_t max_sort_chunks = 256;

// One pass of the sort: by one digit. Ids outside [0, values) count as `values`, after all others.
struct SortPass {
  int64_t n, chunk;
  int32_t values;
  int shift, bits;
  const int32_t *ids, *positions;  // positions null: the i-th is i
  int32_t* counts;                 // (digits, chunks): counts; after the scan, destinations
  int32_t *ids_out, *positions_out;

  __device__ int32_t id(int64_t i) const { return ids[i] < 0 || ids[i] > values ? values : ids[i]; }
  __device__ int digit(int64_t i) const { return id(i) >> shift & ((1 << bits) - 1); }
};

// Returns the lanes of the warp that have a digit, the same as the caller's: one ballot for each
// bit.
__device__ unsigned equal_lanes(bool active, int digit, int bits) {
  unsigned alike = __ballot_sync(full_warp, active);
  for (int bit = 0; bit < bits; ++bit) {
    unsigned set = __ballot_sync(full_warp, digit >> bit & 1);
    alike &= digit >> bit & 1 ? set : ~set;
  }
  return alike;
}

// Processes a chunk, 256 positions at a time: counts digits, or (moves) moves positions. Thread d's
// `next` is the destination of the next position of digit d; it starts at the scanned count, or at
// zero when counting.
//
// The order within a digit is kept: by rank within a warp, then by warp, then by round.
template <bool moves>
__global__ void __launch_bounds__(sort_threads) pass_kernel(SortPass p) {
  __shared__ int32_t
      table[sort_warps][sort_digits];  // per warp and digit: counts, then destinations
  int warp = static_cast<int>(threadIdx.x) / warp_threads;
  unsigned lane = threadIdx.x % warp_threads;
  int32_t* count = p.counts + int64_t{threadIdx.x} * gridDim.x + blockIdx.x;
  int32_t next = moves ? *count : 0;
  int64_t begin = blockIdx.x * p.chunk, end = begin + p.chunk < p.n ? begin + p.chunk : p.n;
  for (; begin < end; begin += sort_threads) {
    int64_t i = begin + threadIdx.x;
    bool active = i < end;
    int digit = active ? p.digit(i) : 0;
    for (int d = static_cast<int>(lane); d < sort_digits; d += warp_threads) table[warp][d] = 0;
    unsigned alike = equal_lanes(active, digit, p.bits);
    // Rank among equal digits of lower lanes; the first of them stores the count.
    int rank = __popc(alike & ((1u << lane) - 1));
    __syncwarp();
    if (active && rank == 0) table[warp][digit] = __popc(alike);
    __syncthreads();
    // Thread d turns the warps' counts of digit d into destinations.
    for (int w = 0; w < sort_warps; ++w) {
      int32_t positions = table[w][threadIdx.x];
      table[w][threadIdx.x] = next;
      next += positions;
    }
    __syncthreads();
    if (moves && active) {
      int32_t to = table[warp][digit] + rank;
      p.ids_out[to] = p.id(i);
      p.positions_out[to] = p.positions ? p.positions[i] : static_cast<int32_t>(i);
    }
    __syncwarp();
  }
  if (!moves) *count = next;
}

// Exclusive scan of counts (digits, chunks), in place. One block, one thread per digit.
__global__ void __launch_bounds__(sort_threads) scan_kernel(int64_t chunks, int32_t* counts) {
  __shared__ int32_t totals[sort_digits];
  counts += threadIdx.x * chunks;
  int32_t total = 0;
  for (int64_t i = 0; i < chunks; ++i) total += counts[i];
  totals[threadIdx.x] = total;
  __syncthreads();
  int32_t before = 0;
  for (unsigned d = 0; d < threadIdx.x; ++d) before += totals[d];
  for (int64_t i = 0; i < chunks; ++i) {
    int32_t count = counts[i];
    counts[i] = before;
    before += count;
  }
}

// first[v] = index of the first sorted id that is at least v, by binary search; v <= values.
__global__ void __launch_bounds__(sort_threads)
    find_first_kernel(int64_t n, int64_t values, const int32_t* ids, int32_t* first) {
  int64_t v = int64_t{blockIdx.x} * sort_threads + threadIdx.x;
  if (v > values) return;
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (ids[middle] < v) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  first[v] = static_cast<int32_t>(low);
}

}  // namespace

SortByKey::SortByKey(int64_t positions, int64_t values) : positions_(positions), values_(values) {
  if (positions >> 31 != 0 || values >> 31 != 0) refuse_sort(positions, values);
  int64_t tiles = (positions + sort_threads - 1) / sort_threads;
  chunk_ = larger<int64_t>(1, (tiles + max_sort_chunks - 1) / max_sort_chunks) * sort_threads;
  chunks_ = blocks_for(positions, chunk_);
  int bits = larger(1, static_cast<int>(std::bit_width(static_cast<uint32_t>(values))));
  passes_ = (bits + 7) / 8;
  bits_ = (bits + passes_ - 1) / passes_;
}

// Workspace: counts (digits, chunks), first (values + 1), and two lists of ids and positions, which
// passes use in turn as source and destination.
size_t SortByKey::workspace_bytes() const {
  return static_cast<size_t>(sort_digits * int64_t{chunks_} + values_ + 1 + 4 * positions_) *
         sizeof(int32_t);
}

SortByKey::Sorted SortByKey::sort(void* stream, const int32_t* ids, void* workspace) const {
  auto counts = static_cast<int32_t*>(workspace), first = counts + sort_digits * int64_t{chunks_};
  int32_t* lists[] = {first + values_ + 1, first + values_ + 1 + 2 * positions_};
  const int32_t* positions = nullptr;
  for (int k = 0; k < passes_; ++k) {
    int32_t* to = lists[k % 2];
    SortPass pass{positions_,     chunk_, static_cast<int32_t>(values_),
                  k * bits_,      bits_,  ids,
                  positions,      counts, to,
                  to + positions_};
    launch(pass_kernel<false>, chunks_, sort_threads, stream, pass);
    launch(scan_kernel, 1, sort_threads, stream, int64_t{chunks_}, counts);
    launch(pass_kernel<true>, chunks_, sort_threads, stream, pass);
    ids = to;
    positions = to + positions_;
  }
  launch(find_first_kernel, blocks_for(values_ + 1, sort_threads), sort_threads, stream, positions_,
         values_, ids, first);
  return {first, positions};
}

}  // namespace spire
