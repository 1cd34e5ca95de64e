// Attention with a cache on the CPU. The cache has each head's keys (transposed, in blocks of 64
// positions) and values as fp32, as the forward of attention has them in its scratch. A thread
// takes strips of 16 rows of a head.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile_product.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_cpu.h"
#include "kernels/ops/cached_attention/cached_attention.h"

namespace spire {
namespace {

using attention_cpu::block;
using attention_cpu::exponentiate;
using attention_cpu::strip;
using tile_product::multiply;

struct CacheSizes {
  int64_t batch, rows, heads, groups, window;
  int64_t size, padded;  // D, and D rounded up to whole registers
  int64_t blocks;        // of positions, in the window
  int threads;

  CacheSizes(const CachedAttentionAttributes& a, const Shape& qkv, int thread_count)
      : batch(qkv[0]),
        rows(qkv[1]),
        heads(a.heads),
        groups(a.kv_heads),
        window(a.window),
        size(qkv[2] / (heads + 2 * groups)),
        padded(whole_registers(size)),
        blocks((window + block - 1) / block),
        threads(thread_count) {}

  int64_t row_width() const { return (heads + 2 * groups) * size; }
  int64_t pitch() const { return blocks * block; }              // of scores
  int64_t head_floats() const { return 2 * pitch() * padded; }  // keys, then values
  int64_t scratch_floats() const { return strip * (2 * padded + pitch()); }
  int64_t strips() const { return (rows + strip - 1) / strip; }
};

template <typename T>
struct CachedAttentionCpu {
  CacheSizes e;
  int layer;
  KeyValueCache& cache;

  void operator()(const KernelArgs& args) const {
    int64_t rows = e.batch * e.rows * e.groups;
    parallel_for(e.threads, rows, 64, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) append(args, i / e.groups, i % e.groups);
    });
    int64_t strips = e.batch * e.heads * e.strips();
    parallel_for(e.threads, strips, 1, [&](int64_t begin, int64_t end, int chunk) {
      float* scratch = args.scratch<float>() + chunk * e.scratch_floats();
      for (int64_t i = begin; i < end; ++i)
        attend(args, i / e.strips(), i % e.strips() * strip, scratch);
    });
  }

  // Number of cached positions that a row (of all samples') sees; 0: the row is padding.
  int64_t seen(const KernelArgs& args, int64_t row) const {
    int64_t position = args.in<int32_t>(1)[row];
    return position >= 0 && position < e.window ? position + 1 : 0;
  }
  float* keys_of(int64_t sample, int64_t group) const {
    return cache.layer<float>(layer) + (sample * e.groups + group) * e.head_floats();
  }
  float* values_of(float* keys) const { return keys + e.pitch() * e.padded; }

  // Writes a row's key and value of a group to the cache.
  void append(const KernelArgs& args, int64_t row, int64_t group) const {
    int64_t position = seen(args, row) - 1;
    if (position < 0) return;
    const T* k = args.in<T>(0) + row * e.row_width() + (e.heads + group) * e.size;
    float* keys = keys_of(row / e.rows, group);
    float* key = keys + position / block * block * e.padded + position % block;
    float* value = values_of(keys) + position * e.padded;
    for (int64_t c = 0; c < e.size; ++c) {
      key[c * block] = static_cast<float>(k[c]);
      value[c] = static_cast<float>(k[e.groups * e.size + c]);
    }
  }

  // The strip of rows of a sample that begins at `first`. head: of all samples' heads.
  void attend(const KernelArgs& args, int64_t head, int64_t first, float* scratch) const {
    int64_t sample = head / e.heads, h = head % e.heads;
    int64_t rows = std::min(strip, e.rows - first), row = sample * e.rows + first;
    int64_t most = 0;
    for (int64_t r = 0; r < rows; ++r) most = std::max(most, seen(args, row + r));
    float *queries = scratch, *sums = queries + strip * e.padded, *scores = sums + strip * e.padded;
    load_queries(args, row, rows, h, queries);
    float* keys = keys_of(sample, h / (e.heads / e.groups));
    for (int64_t key = 0; key < most; key += block)
      multiply(rows, e.size, std::min(block, whole_registers(most - key)), {queries, e.padded, 1},
               {keys + key * e.padded, block}, {scores + key, e.pitch(), false});
    float totals[strip];
    for (int64_t r = 0; r < rows; ++r)
      totals[r] = soften(scores + r * e.pitch(), seen(args, row + r), most);
    multiply(rows, most, e.padded, {scores, e.pitch(), 1}, {values_of(keys), e.padded},
             {sums, e.padded, false});
    for (int64_t r = 0; r < rows; ++r) store(args, row + r, h, sums + r * e.padded, totals[r]);
  }

  void load_queries(const KernelArgs& args, int64_t row, int64_t rows, int64_t head,
                    float* to) const {
    float scale = 1 / std::sqrt(static_cast<float>(e.size));
    const T* q = args.in<T>(0) + row * e.row_width() + head * e.size;
    for (int64_t r = 0; r < rows; ++r)
      over_lanes(e.size, [&](int64_t c, auto count) {
        store_floats(scale * load_floats(q + r * e.row_width() + c, count), to + r * e.padded + c,
                     lane_count);
      });
  }

  // Turns the first `seen` scores of a row into exponentials, whose sum it returns, and those up to
  // `most` into 0.
  static float soften(float* row, int64_t seen, int64_t most) {
    float total = seen > 0 ? exponentiate(row, seen).total : 1;
    std::fill(row + seen, row + most, 0.0f);
    return total;
  }

  void store(const KernelArgs& args, int64_t row, int64_t head, const float* sums,
             float total) const {
    T* y = args.out<T>(0) + (row * e.heads + head) * e.size;
    over_lanes(e.size, [&](int64_t c, auto count) {
      store_floats(load_floats(sums + c, lane_count) * (1 / total), y + c, count);
    });
  }
};

}  // namespace

template <>
Kernel make_cpu(const CachedAttentionOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    const CachedAttentionAttributes& a = op.attributes();
    CacheSizes e(a, request.inputs[0].shape, request.threads);
    auto floats = static_cast<size_t>(e.batch * e.groups * e.head_floats());
    a.cache->reserve(a.layer, floats * sizeof(float));
    return Kernel(CachedAttentionCpu<decltype(type)>{e, a.layer, *a.cache},
                  static_cast<size_t>(e.threads * e.scratch_floats()) * sizeof(float));
  });
}

}  // namespace spire
