// Times oneDNN's convolutions, forward, data and weights gradient, on plain NHWC activations and on
// layouts of oneDNN's own choice: the measurement behind the engine's plain NHWC
// (docs/architecture.md).
//   cmake --build build/release --target onednn_layouts && build/release/tools/onednn_layouts
#include <chrono>
#include <functional>

#include <fmt/format.h>
#include <omp.h>

#include "kernels/cpu/onednn.h"

namespace {

using namespace spire::onednn;
using dnnl::memory;

struct Case {
  int64_t batch, channels, side, filters;
};

// Seconds of one call: the best of several runs of at least 50 ms.
double seconds_of(const std::function<void()>& call) {
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    int calls = 0;
    auto begin = std::chrono::steady_clock::now();
    double seconds = 0;
    while (seconds < 0.05) {
      call();
      ++calls;
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    best = std::min(best, seconds / calls);
  }
  return best;
}

class Convolution {
 public:
  Convolution(const Case& c, spire::DType dtype, bool plain) {
    Dims x{c.batch, c.channels, c.side, c.side}, w{c.filters, c.channels, 3, 3};
    Dims y{c.batch, c.filters, c.side, c.side}, ones{1, 1};
    auto activation = [&](const Dims& dims) {
      return plain ? Desc(dims, data_type(dtype), Tag::nhwc) : any_layout(dims, dtype);
    };
    Desc xd = activation(x), wd = any_layout(w, dtype), yd = activation(y);
    Desc dw = any_layout(w, spire::DType::f32);
    auto direct = dnnl::algorithm::convolution_direct;
    auto forward = describe<dnnl::convolution_forward>(engine_, attributes(false),
                                                       dnnl::prop_kind::forward_training, direct,
                                                       xd, wd, none(), yd, ones, ones, ones);
    auto data = describe_backward<dnnl::convolution_backward_data>(engine_, forward, direct, xd, wd,
                                                                   yd, ones, ones, ones);
    auto weights = describe_backward<dnnl::convolution_backward_weights>(
        engine_, forward, direct, xd, dw, none(), yd, ones, ones, ones);
    add(forward, dnnl::convolution_forward(forward),
        {{DNNL_ARG_SRC, forward.src_desc()},
         {DNNL_ARG_WEIGHTS, forward.weights_desc()},
         {DNNL_ARG_DST, forward.dst_desc()}});
    add(data, dnnl::convolution_backward_data(data),
        {{DNNL_ARG_DIFF_SRC, data.diff_src_desc()},
         {DNNL_ARG_WEIGHTS, data.weights_desc()},
         {DNNL_ARG_DIFF_DST, data.diff_dst_desc()}});
    add(weights, dnnl::convolution_backward_weights(weights),
        {{DNNL_ARG_SRC, weights.src_desc()},
         {DNNL_ARG_DIFF_WEIGHTS, weights.diff_weights_desc()},
         {DNNL_ARG_DIFF_DST, weights.diff_dst_desc()}});
  }

  double seconds() {
    double sum = 0;
    for (auto& [primitive, arguments] : parts_) {
      sum += seconds_of([&] { primitive.execute(stream_, arguments); });
    }
    return sum;
  }

 private:
  template <typename PrimitiveDesc>
  void add(const PrimitiveDesc& desc, const dnnl::primitive& primitive,
           const std::vector<std::pair<int, Desc>>& operands) {
    std::unordered_map<int, memory> arguments;
    for (const auto& [argument, operand] : operands)
      arguments.insert({argument, memory(operand, engine_)});
    arguments.insert({DNNL_ARG_SCRATCHPAD, memory(desc.scratchpad_desc(), engine_)});
    parts_.emplace_back(primitive, std::move(arguments));
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, memory>>> parts_;
};

}  // namespace

int main() {
  omp_set_num_threads(1);
  fmt::print(
      "3x3 convolutions, one thread, forward + both gradients; ratio = own layout / plain NHWC\n");
  for (spire::DType dtype : {spire::DType::f32, spire::DType::bf16}) {
    for (const Case& c :
         {Case{32, 16, 28, 16}, {32, 32, 14, 32}, {32, 64, 7, 64}, {32, 32, 14, 64}}) {
      double plain = Convolution(c, dtype, true).seconds(),
             own = Convolution(c, dtype, false).seconds();
      double flops =
          3 * 2.0 * 9 * static_cast<double>(c.batch * c.channels * c.filters * c.side * c.side);
      fmt::print("{} {:3}x{}x{}x{} -> {:3}  NHWC {:6.0f} GF/s  own {:6.0f} GF/s  ratio {:.2f}\n",
                 to_string(dtype), c.batch, c.side, c.side, c.channels, c.filters,
                 flops / plain * 1e-9, flops / own * 1e-9, own / plain);
    }
  }
}
