#include "kernels/cpu/row_kernel.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "engine/base/fail.h"
#include "engine/device/device_memory.h"

namespace spire::product {
namespace {

constexpr int64_t block_rows = 512;                // rows for which a panel of weights is read once
constexpr int64_t block_bytes = int64_t{4} << 20;  // of copied images

template <typename T>
class RowKernel {
 public:
  RowKernel(RowKernelOptions options, int threads)
      : options_(std::move(options)),
        threads_(threads),
        in_place_(std::is_same_v<T, float> && !options_.images.padded()),
        block_(images_of_a_block()) {
    for (const RowGroup& group : options_.groups) {
      products_.emplace_back(options_.factors, repeated(group), threads);
      product_bytes_ = std::max(product_bytes_, products_.back().workspace_bytes());
    }
  }

  size_t workspace_bytes() const { return product_bytes_ + copy_bytes(); }

  void operator()(const KernelArgs& args) const {
    const auto* x = args.in<T>(0);
    auto* y = args.out<T>(0);
    const auto* bias = options_.bias ? args.in<float>(2) : nullptr;
    auto* copy = reinterpret_cast<float*>(args.scratch<std::byte>() + product_bytes_);
    const PaddedImages& images = options_.images;
    for (int64_t first = 0; first < options_.count; first += block_) {
      int64_t count = std::min(block_, options_.count - first);
      const T* from = x + first * images.h * images.w * images.c;
      const float* a = copy;
      if constexpr (std::is_same_v<T, float>) {
        if (in_place_) a = from;
      }
      if (!in_place_) images.fill(from, count, copy, threads_);
      for (const RowProduct& product : products_)
        product.run(product.rows() / block_ * count, a, args.inputs[1],
                    y + first * options_.output_size, {bias, options_.relu}, args.workspace);
    }
  }

 private:
  size_t copy_bytes() const {
    return in_place_ ? 0 : align_up(static_cast<size_t>(block_ * image_bytes()));
  }
  int64_t image_bytes() const {
    return options_.images.floats() * static_cast<int64_t>(sizeof(float));
  }

  int64_t images_of_a_block() const {
    int64_t rows = 0;
    for (const RowGroup& group : options_.groups) rows += std::ssize(group.from);
    int64_t wanted = (block_rows * threads_ + rows - 1) / rows;
    if (!in_place_) wanted = std::min(wanted, block_bytes * threads_ / image_bytes());
    return std::clamp<int64_t>(wanted, 1, options_.count);
  }

  // The rows of all images of a block.
  RowGroup repeated(const RowGroup& one) const {
    RowGroup all{{}, {}, one.segments};
    for (int64_t image = 0; image < block_; ++image) {
      for (int64_t from : one.from) all.from.push_back(from + image * options_.images.floats());
      for (int64_t to : one.to) all.to.push_back(to + image * options_.output_size);
    }
    return all;
  }

  RowKernelOptions options_;
  int threads_;
  bool in_place_;  // whether rows are read where the input is
  int64_t block_;  // images
  std::vector<RowProduct> products_;
  size_t product_bytes_ = 0;
};

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

Kernel make_row_kernel(RowKernelOptions options, const KernelRequest& request) {
  require(request.outputs[0].dtype == request.inputs[0].dtype, "a product changes the dtype");
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    std::vector<Packing> packings = std::move(options.packings);
    RowKernel<decltype(type)> run(std::move(options), request.threads);
    size_t bytes = run.workspace_bytes();
    return Kernel(std::move(run), bytes).reading(std::move(packings));
  });
}

Kernel make_deep_product(int64_t rows, int64_t depth, int64_t columns,
                         const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    DeepProduct<decltype(type)> run(rows, depth, columns, request.threads);
    size_t bytes = run.workspace_bytes();
    return Kernel(std::move(run), bytes);
  });
}

}  // namespace spire::product
