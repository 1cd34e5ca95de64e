// Exact products on the CPU: a block of rows at a time becomes a matrix of patches in fp64, on
// its grid, and is multiplied by tiles. Threads share the rows; sums are exact, so it does not
// matter how.
#include <algorithm>
#include <memory>

#include "kernels/cpu/double_product.h"
#include "kernels/cpu/largest_exponent.h"
#include "kernels/cpu/parallel.h"
#include "kernels/exact_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_product/exact_product.h"

namespace spire::inline kernels {

namespace {

constexpr int64_t block_rows = 128;

// Writes a row of a matrix of patches: the pixels of sample x that the window at `row` covers.
void write_patch(const Patches& patches, const float* x, int64_t row, const Grid& grid,
                 double* to) {
  int64_t channels = patches.channels;
  for (int64_t tap = 0; tap < patches.taps(); ++tap, to += channels) {
    int64_t pixel = patches.pixel(row, tap);
    if (pixel < 0) {
      std::fill_n(to, channels, 0.0);
      continue;
    }
    const float* from = x + pixel * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = grid(from[c]);
  }
}

// Patches times filters: the forward pass and the data gradient.
class ExactProductCpuKernel : public Kernel {
 public:
  ExactProductCpuKernel(const Patches& patches, const FilterIndex& filter, int64_t samples,
                        int64_t results, bool bias, int threads)
      : patches_(patches),
        filter_(filter),
        samples_(samples),
        results_(results),
        bits_(product_bits(patches.columns())),
        bias_(bias),
        threads_(threads) {}

  size_t workspace_bytes() const override {
    int64_t numbers = panels().size() + samples_ + threads_ * block_size();
    return static_cast<size_t>(numbers) * sizeof(double);
  }

  void run(const KernelArgs& args) override {
    auto* x = static_cast<const float*>(args.inputs[0]);
    auto* filter = static_cast<double*>(args.workspace);
    double *exponents = filter + panels().size(), *blocks = exponents + samples_;
    pack_filter(static_cast<const float*>(args.inputs[1]), filter);
    find_exponents(x, exponents);
    auto* bias = bias_ ? static_cast<const float*>(args.inputs[2]) : nullptr;
    auto* y = static_cast<float*>(args.outputs[0]);
    int64_t rows = samples_ * patches_.rows_per_sample();
    parallel_for(threads_, rows, block_rows, [&](int64_t begin, int64_t end, int chunk) {
      double* block = blocks + chunk * block_size();
      for (int64_t row = begin; row < end; row += block_rows) {
        int64_t count = std::min(block_rows, end - row);
        write_patches(x, exponents, row, count, block);
        multiply(block, filter, bias, count, y + row * results_);
      }
    });
  }

 private:
  DoublePanels panels() const { return {patches_.columns(), results_}; }
  int64_t block_size() const { return block_rows * (patches_.columns() + results_); }

  // On the grid of the largest weight.
  void pack_filter(const float* w, double* filter) const {
    DoublePanels to = panels();
    Grid grid(largest_exponent(w, to.depth * results_), bits_);
    int64_t step = filter_.step();
    parallel_for(threads_, to.count(), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t panel = begin; panel < end; ++panel)
        for (int64_t k = 0; k < to.depth; ++k) {
          const float* from = w + filter_(k, panel * to.width);
          double* row = filter + to.at(k, panel);
          int64_t width = to.width_of(panel);
          for (int64_t n = 0; n < width; ++n) row[n] = grid(from[n * step]);
          std::fill(row + width, row + to.width, 0.0);
        }
    });
  }

  void find_exponents(const float* x, double* exponents) const {
    int64_t size = patches_.sample_size();
    parallel_for(threads_, samples_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n)
        exponents[n] = static_cast<double>(largest_exponent(x + n * size, size));
    });
  }

  void write_patches(const float* x, const double* exponents, int64_t row, int64_t count,
                     double* block) const {
    int64_t per_sample = patches_.rows_per_sample();
    for (int64_t r = row; r < row + count; ++r, block += patches_.columns()) {
      int64_t n = r / per_sample;
      Grid grid(static_cast<int>(exponents[n]), bits_);
      write_patch(patches_, x + n * patches_.sample_size(), r % per_sample, grid, block);
    }
  }

  void multiply(double* block, const double* filter, const float* bias, int64_t count,
                float* y) const {
    int64_t columns = patches_.columns();
    double* sums = block + block_rows * columns;
    std::fill_n(sums, count * results_, 0.0);
    add_product(count, {block, columns, 1}, panels(), filter, sums, results_);
    for (int64_t i = 0; i < count * results_; ++i)
      y[i] = static_cast<float>(bias ? sums[i] + static_cast<double>(bias[i % results_]) : sums[i]);
  }

  Patches patches_;
  FilterIndex filter_;
  int64_t samples_, results_;
  int bits_;
  bool bias_;
  int threads_;
};

// Patches, transposed, times dy, and the sums of dy.
class ExactWeightGradientCpuKernel : public Kernel {
 public:
  ExactWeightGradientCpuKernel(const Patches& patches, const TensorSpec& dy, int64_t global_batch,
                               bool bias, int threads)
      : patches_(patches),
        rows_(dy.shape.elements() / dy.shape.back()),
        outputs_(dy.shape.back()),
        length_(global_batch * patches.rows_per_sample()),
        bias_(bias),
        threads_(threads) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(block_rows * patches_.columns() + panels(block_rows).size()) *
           sizeof(double);
  }

  void run(const KernelArgs& args) override {
    auto* x = static_cast<const float*>(args.inputs[0]);
    auto* dy = static_cast<const float*>(args.inputs[1]);
    auto* flags = static_cast<const double*>(args.inputs[2]);
    int bits = product_bits(length_);
    int exponent = highest_exponent(flags + exponent_count);
    Grid of_x(highest_exponent(flags), bits), of_dy(exponent, bits);
    auto* dw = static_cast<double*>(args.outputs[0]);
    std::fill_n(dw, patches_.columns() * outputs_, 0.0);
    auto* block = static_cast<double*>(args.workspace);
    for (int64_t row = 0; row < rows_; row += block_rows) {
      int64_t count = std::min(block_rows, rows_ - row);
      write_block(x, dy, row, count, of_x, of_dy, block);
      add_block(block, count, dw);
    }
    if (bias_) add_rows(dy, Grid(exponent, term_bits(length_)), dw + patches_.columns() * outputs_);
  }

 private:
  void write_block(const float* x, const float* dy, int64_t row, int64_t count, const Grid& of_x,
                   const Grid& of_dy, double* block) const {
    int64_t columns = patches_.columns(), per_sample = patches_.rows_per_sample();
    double* gradients = block + block_rows * columns;
    parallel_for(threads_, count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t n = (row + i) / per_sample;
        write_patch(patches_, x + n * patches_.sample_size(), (row + i) % per_sample, of_x,
                    block + i * columns);
        write_gradients(dy + (row + i) * outputs_, i, count, of_dy, gradients);
      }
    });
  }

  DoublePanels panels(int64_t depth) const { return {depth, outputs_}; }

  // Row i of dy as a row of all panels.
  void write_gradients(const float* dy, int64_t i, int64_t count, const Grid& grid,
                       double* gradients) const {
    DoublePanels to = panels(count);
    for (int64_t panel = 0; panel < to.count(); ++panel, dy += to.width) {
      double* row = gradients + to.at(i, panel);
      int64_t width = to.width_of(panel);
      for (int64_t o = 0; o < width; ++o) row[o] = grid(dy[o]);
      std::fill(row + width, row + to.width, 0.0);
    }
  }

  void add_block(const double* block, int64_t count, double* dw) const {
    int64_t columns = patches_.columns();
    const double* gradients = block + block_rows * columns;
    parallel_for(threads_, columns, 4, [&](int64_t begin, int64_t end, int) {
      add_product(end - begin, {block + begin, 1, columns}, panels(count), gradients,
                  dw + begin * outputs_, outputs_);
    });
  }

  void add_rows(const float* dy, const Grid& grid, double* db) const {
    std::fill_n(db, outputs_, 0.0);
    parallel_for(threads_, outputs_, 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = 0; row < rows_; ++row)
        for (int64_t o = begin; o < end; ++o) db[o] += grid(dy[row * outputs_ + o]);
    });
  }

  Patches patches_;
  int64_t rows_, outputs_, length_;
  bool bias_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const ExactProductOp& op, const KernelRequest& request) {
  Shape x = as_image(request.inputs[0].shape), y = as_image(request.outputs[0].shape);
  Shape w = as_filter(request.inputs[1].shape);
  return std::make_unique<ExactProductCpuKernel>(patches_of_input(op.attributes(), x, y, w),
                                                 filter_index(w, false), x[0], w[0],
                                                 op.attributes().bias, request.threads);
}

template <>
std::unique_ptr<Kernel> make_cpu(const ExactProductBackwardDataOp& op,
                                 const KernelRequest& request) {
  Shape dy = as_image(request.inputs[0].shape), x = as_image(request.outputs[0].shape);
  Shape w = as_filter(request.inputs[1].shape);
  return std::make_unique<ExactProductCpuKernel>(patches_of_gradient(op.attributes(), x, dy, w),
                                                 filter_index(w, true), x[0], w[1], false,
                                                 request.threads);
}

template <>
std::unique_ptr<Kernel> make_cpu(const ExactProductBackwardWeightsOp& op,
                                 const KernelRequest& request) {
  Shape x = as_image(request.inputs[0].shape), y = as_image(request.inputs[1].shape);
  const ExactProductAttributes& a = op.attributes();
  return std::make_unique<ExactWeightGradientCpuKernel>(
      patches_of_input(a, x, y, as_filter(op.filter())), request.inputs[1], a.global_batch, a.bias,
      request.threads);
}

}  // namespace spire::inline kernels
