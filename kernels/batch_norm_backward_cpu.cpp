// Two passes over memory: one over dy and x for the sums, one that writes dx. With a residual
// behind the relu the first writes dresidual = g, which the second reads in the place of dy and y.
#include <spire/kernels/batch_norm.h>
#include <spire/kernels/batch_norm_passes.h>
#include <spire/kernels/float_type.h>
#include <spire/kernels/parallel.h>

namespace spire {

namespace {

enum class Mask { none, from_x, from_y };

template <typename T>
struct Backward {
  const T *dy, *x, *y;  // y: the mask from_y
  T *dx, *g;            // g: dresidual, written with the mask from_y
  Affine forward;       // for the mask from_x; its center is the mean
};

// g of the elements from i on, in lanes from j on.
template <Mask mask, typename T>
inline FloatLanes masked(const Backward<T>& p, int64_t i, int64_t j, int count) {
  FloatLanes g = load_floats(p.dy + i, count);
  if constexpr (mask == Mask::from_y) g = load_floats(p.y + i, count) > 0 ? g : FloatLanes{};
  if constexpr (mask == Mask::from_x) {
    g = affine(load_floats(p.x + i, count), p.forward, j, count) > 0 ? g : FloatLanes{};
  }
  return g;
}

template <typename T>
inline FloatLanes deviation(const Backward<T>& p, int64_t i, int64_t j, int count) {
  return load_floats(p.x + i, count) - load_floats(p.forward.center + j, count);
}

// sums += (sum g, sum g (x - mean)) of rows [begin, end); writes g where it is an output.
template <Mask mask, typename T>
void add_gradients(const ChannelTiles& tiles, Backward<T> p, int64_t begin, int64_t end,
                   float* first, float* second, double* sums) {
  int64_t channels = tiles.channels;
  for (int64_t b = begin; b < end; b += tiles.block_rows) {
    int64_t e = std::min(end, b + tiles.block_rows);
    std::fill_n(first, tiles.width, 0.0f);
    std::fill_n(second, tiles.width, 0.0f);
    add_terms(b * channels, e * channels, tiles.width, first, second,
              [=](int64_t i, int64_t j, auto count) {
                FloatLanes g = masked<mask>(p, i, j, count);
                if constexpr (mask == Mask::from_y) store_floats(g, p.g + i, count);
                return TwoTerms{g, g * deviation(p, i, j, count)};
              });
    fold_lanes(tiles, first);
    fold_lanes(tiles, second);
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += static_cast<double>(first[c]);
      sums[channels + c] += static_cast<double>(second[c]);
    }
  }
}

// dx = scale g + slope (x - mean) + offset
template <Mask mask, typename T>
void write_dx(const ChannelTiles& tiles, Backward<T> p, int64_t begin, int64_t end,
              const float* slope, const float* offset) {
  for_each_lane(begin * tiles.channels, end * tiles.channels, tiles.width,
                [=](int64_t i, int64_t j, auto count) {
                  FloatLanes g;
                  if constexpr (mask == Mask::from_y) {
                    g = load_floats(p.g + i, count);
                  } else {
                    g = masked<mask>(p, i, j, count);
                  }
                  FloatLanes scaled = load_floats(p.forward.scale + j, count) * g;
                  scaled += load_floats(slope + j, count) * deviation(p, i, j, count);
                  store_floats(scaled + load_floats(offset + j, count), p.dx + i, count);
                });
}

template <typename T, Mask mask>
class BackwardKernel : public Kernel {
 public:
  explicit BackwardKernel(const KernelRequest& request)
      : tiles_(request.inputs[0].shape), threads_(request.threads), scratch_(tiles_, threads_) {}

  size_t workspace_bytes() const override { return scratch_.bytes(); }

  void run(const KernelArgs& args) override {
    scratch_.bind(args.workspace);
    scratch_.clear_sums();
    Backward<T> p = operands(args);
    parallel_for(threads_, tiles_.rows, tiles_.block_rows, [&](int64_t begin, int64_t end, int k) {
      add_gradients<mask>(tiles_, p, begin, end, scratch_.lanes(k, 0), scratch_.lanes(k, 1),
                          scratch_.sums(k));
    });
    finish(args);
    parallel_for(threads_, tiles_.rows, tiles_.block_rows, [&](int64_t begin, int64_t end, int) {
      write_dx<mask>(tiles_, p, begin, end, scratch_.table(3), scratch_.table(4));
    });
  }

 private:
  Backward<T> operands(const KernelArgs& args) const {
    auto gamma = static_cast<const float*>(args.inputs[2]);
    auto mean = static_cast<const float*>(args.inputs[3]);
    auto inv_std = static_cast<const float*>(args.inputs[4]);
    float *center = scratch_.table(0), *scale = scratch_.table(1), *shift = scratch_.table(2);
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      center[c] = mean[c];
      scale[c] = gamma[c] * inv_std[c];
      if (mask == Mask::from_x) shift[c] = static_cast<const float*>(args.inputs[5])[c];
    }
    for (float* lanes : {center, scale}) repeat_lanes(tiles_, lanes);
    if (mask == Mask::from_x) repeat_lanes(tiles_, shift);
    bool from_y = mask == Mask::from_y;
    return {.dy = static_cast<const T*>(args.inputs[0]),
            .x = static_cast<const T*>(args.inputs[1]),
            .y = from_y ? static_cast<const T*>(args.inputs[5]) : nullptr,
            .dx = static_cast<T*>(args.outputs[0]),
            .g = from_y ? static_cast<T*>(args.outputs[3]) : nullptr,
            .forward = {center, scale, shift}};
  }

  // dgamma, dbeta, and the lane vectors slope and offset of write_dx.
  void finish(const KernelArgs& args) const {
    auto inv_std = static_cast<const float*>(args.inputs[4]);
    float *scale = scratch_.table(1), *slope = scratch_.table(3), *offset = scratch_.table(4);
    double n = static_cast<double>(std::max<int64_t>(tiles_.rows, 1));
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      double dbeta = scratch_.total(0, c);
      double dgamma = scratch_.total(1, c) * static_cast<double>(inv_std[c]);
      static_cast<float*>(args.outputs[1])[c] = static_cast<float>(dgamma);
      static_cast<float*>(args.outputs[2])[c] = static_cast<float>(dbeta);
      double a = static_cast<double>(scale[c]) / n;
      slope[c] = static_cast<float>(-a * dgamma * static_cast<double>(inv_std[c]));
      offset[c] = static_cast<float>(-a * dbeta);
    }
    for (float* lanes : {slope, offset}) repeat_lanes(tiles_, lanes);
  }

  ChannelTiles tiles_;
  int threads_;
  ChannelScratch scratch_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_backward_cpu(const Op& op, const KernelRequest& request) {
  const auto& attributes = static_cast<const BatchNormBackwardOp&>(op).attributes();
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (!attributes.relu) return std::make_unique<BackwardKernel<T, Mask::none>>(request);
    if (!attributes.residual) return std::make_unique<BackwardKernel<T, Mask::from_x>>(request);
    return std::make_unique<BackwardKernel<T, Mask::from_y>>(request);
  });
}

}  // namespace spire
