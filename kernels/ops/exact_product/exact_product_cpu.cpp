// Exact products on the CPU: a block of rows at a time becomes a matrix of patches in fp64, on
// its grid, and is multiplied by tiles. Threads share the rows; sums are exact, so it does not
// matter how.
// Of flags and rounded gradients, threads share the elements.
#include <algorithm>
#include <bit>
#include <memory>

#include "kernels/cpu/double_product.h"
#include "kernels/cpu/parallel.h"
#include "kernels/exact_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_product/exact_product.h"

namespace spire {

namespace {

int largest_exponent(const float* x, int64_t count) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  return static_cast<int>(most >> 23);
}

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
struct ExactProductCpu {
  Patches patches;
  FilterIndex index;
  int64_t samples, results;
  bool with_bias;
  int threads;
  int bits = product_bits(patches.columns());

  size_t workspace_bytes() const {
    int64_t numbers = panels().size() + samples + threads * block_size();
    return static_cast<size_t>(numbers) * sizeof(double);
  }

  void operator()(const KernelArgs& args) const {
    auto* x = args.in<float>(0);
    auto* filter = args.scratch<double>();
    double *exponents = filter + panels().size(), *blocks = exponents + samples;
    pack_filter(args.in<float>(1), filter);
    find_exponents(x, exponents);
    auto* bias = with_bias ? args.in<float>(2) : nullptr;
    auto* y = args.out<float>(0);
    int64_t rows = samples * patches.rows_per_sample();
    parallel_for(threads, rows, block_rows, [&](int64_t begin, int64_t end, int chunk) {
      double* block = blocks + chunk * block_size();
      for (int64_t row = begin; row < end; row += block_rows) {
        int64_t count = std::min(block_rows, end - row);
        write_patches(x, exponents, row, count, block);
        multiply(block, filter, bias, count, y + row * results);
      }
    });
  }

  DoublePanels panels() const { return {patches.columns(), results}; }
  int64_t block_size() const { return block_rows * (patches.columns() + results); }

  // On the grid of the largest weight.
  void pack_filter(const float* w, double* filter) const {
    DoublePanels to = panels();
    Grid grid(largest_exponent(w, to.depth * results), bits);
    int64_t step = index.step();
    parallel_for(threads, to.count(), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t panel = begin; panel < end; ++panel)
        for (int64_t k = 0; k < to.depth; ++k) {
          const float* from = w + index(k, panel * to.width);
          double* row = filter + to.at(k, panel);
          int64_t width = to.width_of(panel);
          for (int64_t n = 0; n < width; ++n) row[n] = grid(from[n * step]);
          std::fill(row + width, row + to.width, 0.0);
        }
    });
  }

  void find_exponents(const float* x, double* exponents) const {
    int64_t size = patches.sample_size();
    parallel_for(threads, samples, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n)
        exponents[n] = static_cast<double>(largest_exponent(x + n * size, size));
    });
  }

  void write_patches(const float* x, const double* exponents, int64_t row, int64_t count,
                     double* block) const {
    int64_t per_sample = patches.rows_per_sample();
    for (int64_t r = row; r < row + count; ++r, block += patches.columns()) {
      int64_t n = r / per_sample;
      Grid grid(static_cast<int>(exponents[n]), bits);
      write_patch(patches, x + n * patches.sample_size(), r % per_sample, grid, block);
    }
  }

  void multiply(double* block, const double* filter, const float* bias, int64_t count,
                float* y) const {
    int64_t columns = patches.columns();
    double* sums = block + block_rows * columns;
    std::fill_n(sums, count * results, 0.0);
    add_product(count, {block, columns, 1}, panels(), filter, sums, results);
    for (int64_t i = 0; i < count * results; ++i)
      y[i] = static_cast<float>(bias ? sums[i] + static_cast<double>(bias[i % results]) : sums[i]);
  }
};

// Patches, transposed, times dy, and the sums of dy.
struct ExactWeightGradientCpu {
  Patches patches;
  int64_t rows, outputs, length;
  bool with_bias;
  int threads;

  size_t workspace_bytes() const {
    return static_cast<size_t>(block_rows * patches.columns() + panels(block_rows).size()) *
           sizeof(double);
  }

  void operator()(const KernelArgs& args) const {
    auto* x = args.in<float>(0);
    auto* dy = args.in<float>(1);
    auto* flags = args.in<double>(2);
    int bits = product_bits(length);
    int exponent = highest_exponent(flags + exponent_count);
    Grid of_x(highest_exponent(flags), bits), of_dy(exponent, bits);
    auto* dw = args.out<double>(0);
    std::fill_n(dw, patches.columns() * outputs, 0.0);
    auto* block = args.scratch<double>();
    for (int64_t row = 0; row < rows; row += block_rows) {
      int64_t count = std::min(block_rows, rows - row);
      write_block(x, dy, row, count, of_x, of_dy, block);
      add_block(block, count, dw);
    }
    if (with_bias)
      add_rows(dy, Grid(exponent, term_bits(length)), dw + patches.columns() * outputs);
  }

  void write_block(const float* x, const float* dy, int64_t row, int64_t count, const Grid& of_x,
                   const Grid& of_dy, double* block) const {
    int64_t columns = patches.columns(), per_sample = patches.rows_per_sample();
    double* gradients = block + block_rows * columns;
    parallel_for(threads, count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t n = (row + i) / per_sample;
        write_patch(patches, x + n * patches.sample_size(), (row + i) % per_sample, of_x,
                    block + i * columns);
        write_gradients(dy + (row + i) * outputs, i, count, of_dy, gradients);
      }
    });
  }

  DoublePanels panels(int64_t depth) const { return {depth, outputs}; }

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
    int64_t columns = patches.columns();
    const double* gradients = block + block_rows * columns;
    parallel_for(threads, columns, 4, [&](int64_t begin, int64_t end, int) {
      add_product(end - begin, {block + begin, 1, columns}, panels(count), gradients,
                  dw + begin * outputs, outputs);
    });
  }

  void add_rows(const float* dy, const Grid& grid, double* db) const {
    std::fill_n(db, outputs, 0.0);
    parallel_for(threads, outputs, 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t o = begin; o < end; ++o) db[o] += grid(dy[row * outputs + o]);
    });
  }
};

// transposed: the data gradient.
Kernel exact_product(const ExactProductAttributes& a, bool transposed,
                     const KernelRequest& request) {
  Shape in = as_image(request.inputs[0].shape), out = as_image(request.outputs[0].shape);
  Shape w = as_filter(request.inputs[1].shape);
  ExactProductCpu run{patches_of(a, in, out, w, transposed),
                      filter_index(w, transposed),
                      in[0],
                      out[3],
                      a.bias && !transposed,
                      request.threads};
  return Kernel(run, run.workspace_bytes());
}

constexpr int64_t range_grain = 4096;

constexpr int64_t outputs_at_a_time = 8;

// The totals of some outputs at a time, which lie beside each other.
void write_exact_weights(const ExactGradient& gradient, int threads, const double* total,
                         float* dw) {
  int64_t rows = gradient.taps * gradient.inputs;
  parallel_for(threads, gradient.outputs, outputs_at_a_time, [&](int64_t begin, int64_t end, int) {
    for (int64_t o = begin; o < end; o += outputs_at_a_time) {
      int64_t last = std::min(end, o + outputs_at_a_time);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t n = o; n < last; ++n)
          dw[gradient.index(row, n)] = gradient.weight(total, row, n);
    }
  });
}

}  // namespace

template <>
Kernel make_cpu(const ExactProductOp& op, const KernelRequest& request) {
  return exact_product(op.attributes(), false, request);
}

template <>
Kernel make_cpu(const ExactProductBackwardDataOp& op, const KernelRequest& request) {
  return exact_product(op.attributes(), true, request);
}

template <>
Kernel make_cpu(const ExactProductBackwardWeightsOp& op, const KernelRequest& request) {
  const Shape& dy = request.inputs[1].shape;
  const ExactProductAttributes& a = op.attributes();
  Patches patches =
      patches_of(a, as_image(request.inputs[0].shape), as_image(dy), as_filter(op.filter()), false);
  ExactWeightGradientCpu run{patches,   dy.elements() / dy.back(),
                             dy.back(), a.global_batch * patches.rows_per_sample(),
                             a.bias,    request.threads};
  return Kernel(run, run.workspace_bytes());
}

template <>
Kernel make_cpu(const ExactRangeOp&, const KernelRequest& request) {
  std::vector<int64_t> counts;
  for (const TensorSpec& input : request.inputs) counts.push_back(input.shape.elements());
  auto run = [counts, threads = request.threads](const KernelArgs& args) {
    auto flags = args.out<double>(0);
    auto largest = args.scratch<int>();
    std::fill_n(flags, counts.size() * exponent_count, 0.0);
    for (size_t i = 0; i < counts.size(); ++i, flags += exponent_count) {
      auto x = args.in<float>(i);
      std::fill_n(largest, threads, 0);
      parallel_for(threads, counts[i], range_grain, [&](int64_t begin, int64_t end, int chunk) {
        largest[chunk] = largest_exponent(x + begin, end - begin);
      });
      flags[*std::max_element(largest, largest + threads)] = 1;
    }
  };
  return Kernel(run, sizeof(int) * static_cast<size_t>(request.threads));
}

template <>
Kernel make_cpu(const ExactGradientOp& op, const KernelRequest& request) {
  return [gradient = exact_gradient(op.weights()), bias = op.bias(),
          threads = request.threads](const KernelArgs& args) {
    auto total = args.in<double>(0);
    bool first = args.step->first_row == 0;
    auto dw = args.out<float>(0);
    if (first) {
      write_exact_weights(gradient, threads, total, dw);
    } else {
      std::fill_n(dw, gradient.weights(), 0.0f);
    }
    if (!bias) return;
    auto db = args.out<float>(1);
    for (int64_t o = 0; o < gradient.outputs; ++o) db[o] = first ? gradient.bias(total, o) : 0.0f;
  };
}

}  // namespace spire
