#include <bit>

#include <spire/error.h>

#include "engine/device/cuda_block.h"
#include "engine/device/cuda_launch.h"
#include "kernels/cuda/sort_by_key.h"

namespace spire::inline kernels {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_threads;
constexpr int digits = threads;  // thread d keeps the count of digit d
constexpr int64_t max_chunks = 256;

// One pass of the sort. Ids outside [0, values) are taken as `values`, behind all others.
struct Pass {
  int64_t n, chunk;
  int32_t values;
  int shift, bits;
  const int32_t *ids, *places;  // places null: the i-th is i
  int32_t* counts;              // (digits, chunks); when places are moved, where they begin
  int32_t *ids_out, *places_out;

  __device__ int32_t id(int64_t i) const { return ids[i] < 0 || ids[i] > values ? values : ids[i]; }
  __device__ int digit(int64_t i) const { return id(i) >> shift & ((1 << bits) - 1); }
};

// Lanes of the warp that hold the same digit as the caller; of those that hold one.
__device__ unsigned lanes_alike(bool holds, int digit, int bits) {
  unsigned alike = __ballot_sync(full_warp, holds);
  for (int bit = 0; bit < bits; ++bit) {
    unsigned set = __ballot_sync(full_warp, digit >> bit & 1);
    alike &= digit >> bit & 1 ? set : ~set;
  }
  return alike;
}

// A chunk, 256 places at a time. Thread d's `next` is where the next place of digit d goes: from
// the counts' scan when places are moved, from zero when they are counted.
template <bool moves>
__global__ void __launch_bounds__(threads) pass_kernel(Pass p) {
  __shared__ int32_t table[warps][digits];  // of each warp and digit: places, then where they go
  int warp = static_cast<int>(threadIdx.x) / warp_threads;
  unsigned lane = threadIdx.x % warp_threads;
  int32_t* count = p.counts + int64_t{threadIdx.x} * gridDim.x + blockIdx.x;
  int32_t next = moves ? *count : 0;
  int64_t begin = blockIdx.x * p.chunk, end = begin + p.chunk < p.n ? begin + p.chunk : p.n;
  for (; begin < end; begin += threads) {
    int64_t i = begin + threadIdx.x;
    bool holds = i < end;
    int digit = holds ? p.digit(i) : 0;
    for (int d = static_cast<int>(lane); d < digits; d += warp_threads) table[warp][d] = 0;
    unsigned alike = lanes_alike(holds, digit, p.bits);
    int rank = __popc(alike & ((1u << lane) - 1));
    __syncwarp();
    if (holds && rank == 0) table[warp][digit] = __popc(alike);
    __syncthreads();
    for (int w = 0; w < warps; ++w) {
      int32_t places = table[w][threadIdx.x];
      table[w][threadIdx.x] = next;
      next += places;
    }
    __syncthreads();
    if (moves && holds) {
      int32_t to = table[warp][digit] + rank;
      p.ids_out[to] = p.id(i);
      p.places_out[to] = p.places ? p.places[i] : static_cast<int32_t>(i);
    }
    __syncwarp();
  }
  if (!moves) *count = next;
}

// counts (digits, chunks) become the sum of all before them. One block; a thread takes a digit.
__global__ void __launch_bounds__(threads) scan_kernel(int64_t chunks, int32_t* counts) {
  __shared__ int32_t totals[digits];
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

// first[v]: the first of the sorted ids that is v or more.
__global__ void __launch_bounds__(threads)
    find_first_kernel(int64_t n, int64_t values, const int32_t* ids, int32_t* first) {
  int64_t v = int64_t{blockIdx.x} * threads + threadIdx.x;
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

SortByKey::SortByKey(int64_t places, int64_t values) : places_(places), values_(values) {
  require(places >> 31 == 0 && values >> 31 == 0, "{} places of {} ids are too many to sort",
          places, values);
  int64_t tiles = (places + threads - 1) / threads;
  chunk_ = std::max<int64_t>(1, (tiles + max_chunks - 1) / max_chunks) * threads;
  chunks_ = blocks_for(places, chunk_);
  int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint32_t>(values))));
  passes_ = (bits + 7) / 8;
  bits_ = (bits + passes_ - 1) / passes_;
}

// counts, first (values + 1), and ids and places of two lists, to go from one to the other.
size_t SortByKey::workspace_bytes() const {
  return static_cast<size_t>(digits * int64_t{chunks_} + values_ + 1 + 4 * places_) *
         sizeof(int32_t);
}

SortByKey::Sorted SortByKey::sort(void* stream, const int32_t* ids, void* workspace) const {
  auto counts = static_cast<int32_t*>(workspace), first = counts + digits * int64_t{chunks_};
  int32_t* lists[] = {first + values_ + 1, first + values_ + 1 + 2 * places_};
  const int32_t* places = nullptr;
  for (int k = 0; k < passes_; ++k) {
    int32_t* to = lists[k % 2];
    Pass pass{
        places_, chunk_,      static_cast<int32_t>(values_), k * bits_, bits_, ids, places, counts,
        to,      to + places_};
    launch(pass_kernel<false>, chunks_, threads, stream, pass);
    launch(scan_kernel, 1, threads, stream, int64_t{chunks_}, counts);
    launch(pass_kernel<true>, chunks_, threads, stream, pass);
    ids = to;
    places = to + places_;
  }
  launch(find_first_kernel, blocks_for(values_ + 1, threads), threads, stream, places_, values_,
         ids, first);
  return {first, places};
}

}  // namespace spire::inline kernels
