// Axes that stay neighbours are taken as one. What is left is rows of y, each contiguous in x too
// or else gathered from it; those are moved in tiles, so that both sides are read and written by
// lines.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire::inline kernels {

namespace {

template <typename Element>
class TransposeCpuKernel : public Kernel {
 public:
  TransposeCpuKernel(const TransposeOp& op, const KernelRequest& request)
      : threads_(request.threads), empty_(request.outputs[0].shape.elements() == 0) {
    outer_ = merged_axes(op, request.inputs[0].shape, request.outputs[0].shape);
    row_ = outer_.front();
    outer_.erase(outer_.begin());
    // The axis that is contiguous in x, when a row of y is not.
    auto contiguous =
        std::find_if(outer_.begin(), outer_.end(), [](auto& a) { return a.from == 1; });
    if (row_.from != 1 && contiguous != outer_.end()) {
      column_ = *contiguous;
      outer_.erase(contiguous);
    }
    for (const TransposeAxis& axis : outer_) blocks_ *= axis.length;
    tiles_ = (column_.length + tile - 1) / tile;
  }

  void run(const KernelArgs& args) override {
    if (empty_) return;
    auto x = static_cast<const Element*>(args.inputs[0]);
    auto y = static_cast<Element*>(args.outputs[0]);
    int64_t elements = row_.length * std::min(tile, column_.length);
    parallel_for(threads_, blocks_ * tiles_, 1 + 16384 / elements,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t i = begin; i < end; ++i) {
                     auto [to, from] = offsets_of(i / tiles_);
                     int64_t first = i % tiles_ * tile;
                     move(x + from + first * column_.from, y + to + first * column_.to,
                          std::min(tile, column_.length - first));
                   }
                 });
  }

 private:
  static constexpr int64_t tile = 32;

  std::pair<int64_t, int64_t> offsets_of(int64_t block) const {
    int64_t to = 0, from = 0;
    for (const TransposeAxis& axis : outer_) {
      to += block % axis.length * axis.to;
      from += block % axis.length * axis.from;
      block /= axis.length;
    }
    return {to, from};
  }

  // `columns` rows of y.
  void move(const Element* x, Element* y, int64_t columns) const {
    if (row_.from == 1) {
      for (int64_t j = 0; j < columns; ++j) {
        std::copy_n(x + j * column_.from, row_.length, y + j * column_.to);
      }
      return;
    }
    for (int64_t first = 0; first < row_.length; first += tile) {
      int64_t end = std::min(first + tile, row_.length);
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = first; i < end; ++i) {
          y[j * column_.to + i] = x[j * column_.from + i * row_.from];
        }
      }
    }
  }

  int threads_;
  bool empty_;
  TransposeAxis row_, column_;        // the innermost axis of y, and that of x when it is another
  std::vector<TransposeAxis> outer_;  // the others
  int64_t blocks_ = 1, tiles_ = 1;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const TransposeOp& op, const KernelRequest& request) {
  switch (size_of(request.inputs[0].dtype)) {
    case 1:
      return std::make_unique<TransposeCpuKernel<uint8_t>>(op, request);
    case 2:
      return std::make_unique<TransposeCpuKernel<uint16_t>>(op, request);
    case 4:
      return std::make_unique<TransposeCpuKernel<uint32_t>>(op, request);
    default:
      return std::make_unique<TransposeCpuKernel<uint64_t>>(op, request);
  }
}

}  // namespace spire::inline kernels
