#include "kernels/cpu/row_kernel.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include <spire/error.h>

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

}  // namespace spire::product
