// A thread writes a pack: 16 bytes if the rows of `to` allow it, loaded in words that the rows of
// `from` allow.
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"
#include "kernels/cuda/vector_copy.h"

namespace spire {
namespace {

// A RowMove with words as its unit.
struct Words {
  int64_t n;      // packs of all rows
  Divider packs;  // of a row
  int64_t to_stride, from_stride, before, kept;
};

template <int N, typename Word>
__global__ void __launch_bounds__(block_threads) move_kernel(Words w, Word* to, const Word* from) {
  int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= w.n) return;
  auto [row, pack] = w.packs.divide(i);
  int64_t first = pack * N - w.before;  // in the row of `from`; negative: zeros
  from += row * w.from_stride;
  Pack<Word, N> result;
  for (int k = 0; k < N; ++k) {
    bool inside = first + k >= 0 && first + k < w.kept;
    result.at[k] = inside ? from[first + k] : Word{};
  }
  store_pack(result, to + row * w.to_stride + pack * N);
}

template <int N, typename Word>
void launch_move(void* stream, const RowMove& m, void* to, const void* from) {
  constexpr auto size = static_cast<int64_t>(sizeof(Word));
  Words words{m.rows * m.width / (N * size),
              Divider(m.width / (N * size)),
              m.to_stride / size,
              m.from_stride / size,
              m.before / size,
              m.kept / size};
  launch(move_kernel<N, Word>, blocks_for(words.n, block_threads), block_threads, stream, words,
         static_cast<Word*>(to) + m.to_begin / size,
         static_cast<const Word*>(from) + m.from_begin / size);
}

}  // namespace

void move_rows_cuda(void* stream, const RowMove& m, void* to, const void* from) {
  if (m.rows * m.width == 0) return;
  // Rows of `to` decide the width of a store; with those of `from`, the width of a load.
  bool packs = word_of(m.to_stride, m.to_begin, m.width) == widest_word;
  int64_t bytes =
      word_of(m.to_stride, m.to_begin, m.width, m.from_stride, m.from_begin, m.before, m.kept);
  with_word(bytes, [&]<typename Word>(Word) {
    constexpr int N = static_cast<int>(widest_word / sizeof(Word));
    if (packs) {
      launch_move<N, Word>(stream, m, to, from);
    } else {
      launch_move<1, Word>(stream, m, to, from);
    }
  });
}

}  // namespace spire
