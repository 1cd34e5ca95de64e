// Transpose on the CPU. Axes that stay neighbours are merged first. A row of y is then contiguous
// in x too, and copied; or it is gathered from x, in tiles of 32 x 32, so that both sides are read
// and written by whole cache lines.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire {

namespace {

template <typename Element>
struct TransposeCpu {
  static constexpr int64_t tile = 32;

  int threads;
  TransposeAxis row, column;         // innermost axis of y, and of x where it is another
  std::vector<TransposeAxis> outer;  // the others
  int64_t blocks = 1;

  void operator()(const KernelArgs& args) const {
    int64_t tiles = (column.length + tile - 1) / tile;
    auto x = args.in<Element>(0);
    auto y = args.out<Element>(0);
    int64_t elements = row.length * std::min(tile, column.length);
    parallel_for(threads, blocks * tiles, 1 + 16384 / elements,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t i = begin; i < end; ++i) {
                     auto [to, from] = offsets_of(i / tiles);
                     int64_t first = i % tiles * tile;
                     move(x + from + first * column.from, y + to + first * column.to,
                          std::min(tile, column.length - first));
                   }
                 });
  }

  std::pair<int64_t, int64_t> offsets_of(int64_t block) const {
    int64_t to = 0, from = 0;
    for (const TransposeAxis& axis : outer) {
      to += block % axis.length * axis.to;
      from += block % axis.length * axis.from;
      block /= axis.length;
    }
    return {to, from};
  }

  // Writes `columns` rows of y.
  void move(const Element* x, Element* y, int64_t columns) const {
    if (row.from == 1) {
      for (int64_t j = 0; j < columns; ++j) {
        std::copy_n(x + j * column.from, row.length, y + j * column.to);
      }
      return;
    }
    for (int64_t first = 0; first < row.length; first += tile) {
      int64_t end = std::min(first + tile, row.length);
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = first; i < end; ++i) {
          y[j * column.to + i] = x[j * column.from + i * row.from];
        }
      }
    }
  }
};

}  // namespace

template <>
Kernel make_cpu(const TransposeOp& op, const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  if (y.shape.elements() == 0) return [](const KernelArgs&) {};
  auto outer = merged_axes(op, x.shape, y.shape);
  TransposeAxis row = outer.front(), column;
  outer.erase(outer.begin());
  // The axis that is contiguous in x, when a row of y is not.
  auto contiguous = std::find_if(outer.begin(), outer.end(), [](auto& a) { return a.from == 1; });
  if (row.from != 1 && contiguous != outer.end()) {
    column = *contiguous;
    outer.erase(contiguous);
  }
  int64_t blocks = 1;
  for (const TransposeAxis& axis : outer) blocks *= axis.length;
  auto make = [&](auto element) -> Kernel {
    return TransposeCpu<decltype(element)>{request.threads, row, column, outer, blocks};
  };
  switch (size_of(x.dtype)) {
    case 1:
      return make(uint8_t{});
    case 2:
      return make(uint16_t{});
    case 4:
      return make(uint32_t{});
    default:
      return make(uint64_t{});
  }
}

}  // namespace spire
