#include "kernels/cpu/deep_product.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "engine/device/device_memory.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/row_product.h"

namespace spire::product {
namespace {

constexpr int64_t deep_block_rows = 512;

template <typename T>
class DeepProduct {
 public:
  DeepProduct(int64_t rows, int64_t depth, int64_t columns, int threads)
      : rows_(rows),
        depth_(depth),
        columns_(columns),
        block_(std::min(rows, deep_block_rows * threads)),
        threads_(threads),
        whole_(slab_product(slab_columns)),
        last_(slab_product(depth % slab_columns)) {}

  size_t workspace_bytes() const { return product_bytes() + slab_bytes() + sum_bytes(); }

  void operator()(const KernelArgs& args) const {
    const auto* dy = args.in<T>(0);
    const auto* w = args.in<float>(1);
    auto* dx = args.out<T>(0);
    auto* bytes = args.scratch<std::byte>();
    auto* copy = reinterpret_cast<float*>(bytes + product_bytes());
    for (int64_t first = 0; first < rows_; first += block_) {
      int64_t rows = std::min(block_, rows_ - first);
      float* sums = nullptr;
      if constexpr (std::is_same_v<T, float>) {
        sums = dx + first * columns_;
      } else {
        sums = reinterpret_cast<float*>(bytes + product_bytes() + slab_bytes());
      }
      for (int64_t k = 0; k < depth_; k += slab_columns) {
        int64_t width = std::min(slab_columns, depth_ - k);
        copy_slab(dy + first * depth_ + k, rows, width, copy);
        const RowProduct& product = width == slab_columns ? whole_ : last_;
        product.run(rows, copy, w + k * columns_, sums, {.add = k > 0}, args.workspace);
      }
      if constexpr (!std::is_same_v<T, float>)
        elementwise(
            threads_, rows * columns_, dx + first * columns_,
            [](const FloatLanes& sum) { return sum; }, static_cast<const float*>(sums));
    }
  }

 private:
  RowProduct slab_product(int64_t depth) const {
    RowGroup group;
    for (int64_t i = 0; i < block_; ++i) {
      group.from.push_back(i * slab_columns);
      group.to.push_back(i * columns_);
    }
    group.segments.push_back({0, 0, depth});
    return {{Factors::Form::rows_f32, depth, columns_, columns_}, std::move(group), threads_};
  }

  void copy_slab(const T* from, int64_t rows, int64_t width, float* to) const {
    parallel_for(threads_, rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        copy_range(from + row * depth_, to + row * slab_columns, width);
    });
  }

  size_t product_bytes() const {
    return std::max(whole_.workspace_bytes(), last_.workspace_bytes());
  }
  size_t slab_bytes() const { return static_cast<size_t>(block_ * slab_columns) * sizeof(float); }
  size_t sum_bytes() const {
    bool f32 = std::is_same_v<T, float>;
    return f32 ? 0 : align_up(static_cast<size_t>(block_ * columns_) * sizeof(float));
  }

  int64_t rows_, depth_, columns_, block_;
  int threads_;
  RowProduct whole_, last_;  // for a whole slab, and for the rest
};

}  // namespace

Kernel make_deep_product(int64_t rows, int64_t depth, int64_t columns,
                         const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    DeepProduct<decltype(type)> run(rows, depth, columns, request.threads);
    size_t bytes = run.workspace_bytes();
    return Kernel(std::move(run), bytes);
  });
}

}  // namespace spire::product
