// A model with an op of the program's own, softplus, on a CPU or a GPU: own_op [device]. Its
// gradient is an op as well.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include <spire/spire.h>

#include "softplus.h"

namespace {

spire::Kernel softplus_kernel(const spire::KernelRequest& request, bool backward) {
  bool cuda = request.device.kind == spire::DeviceKind::cuda;
  return cuda ? softplus_kernel_cuda(request, backward) : softplus_kernel_cpu(request, backward);
}

class SoftplusBackward : public spire::Op {
 public:
  std::string_view name() const override { return "softplus_backward"; }
  std::vector<spire::TensorSpec> infer(std::span<const spire::TensorSpec> inputs) const override {
    return {inputs[0]};
  }
  spire::Kernel make_kernel(const spire::KernelRequest& request) const override {
    return softplus_kernel(request, true);
  }
};

class Softplus : public spire::Op {
 public:
  std::string_view name() const override { return "softplus"; }
  std::vector<spire::TensorSpec> infer(std::span<const spire::TensorSpec> inputs) const override {
    spire::expect_inputs(*this, inputs, 1, 1);
    spire::expect(*this, spire::is_float_type(inputs[0].dtype),
                  "takes floats, got " + spire::to_string(inputs[0]));
    return {inputs[0]};
  }
  void gradient(spire::GradientBuilder& builder) const override {
    builder.set_gradient(0, builder.emit(std::make_unique<SoftplusBackward>(),
                                         {builder.input(0), builder.output_gradient(0)})[0]);
  }
  spire::Kernel make_kernel(const spire::KernelRequest& request) const override {
    return softplus_kernel(request, false);
  }
};

// A layer function as those of Spire.
spire::Value softplus(spire::Graph& graph, spire::Value x) {
  return graph.emit_op<Softplus>({x})[0];
}

}  // namespace

// Any float type is computed in fp32.
spire::Kernel softplus_kernel_cpu(const spire::KernelRequest& request, bool backward) {
  const spire::TensorSpec& spec = request.inputs[0];
  return spire::with_any_float_type(spec.dtype, [&](auto type) -> spire::Kernel {
    using T = decltype(type);
    return [backward, count = spec.shape.elements()](const spire::KernelArgs& args) {
      auto x = args.in<T>(0);
      auto out = args.out<T>(0);
      if (backward) {
        auto dy = args.in<T>(1);
        for (int64_t i = 0; i < count; ++i) out[i] = float(dy[i]) / (1 + std::exp(-float(x[i])));
      } else {
        for (int64_t i = 0; i < count; ++i)
          out[i] = std::max(float(x[i]), 0.0f) + std::log1p(std::exp(-std::abs(float(x[i]))));
      }
    };
  });
}

int main(int argc, char** argv) try {
  std::vector<float> x, squares;  // y = x^2 on [-1, 1]
  for (int i = 0; i < 2048; ++i) {
    x.push_back(static_cast<float>(i) / 1024 - 1);
    squares.push_back(x.back() * x.back());
  }
  auto model = std::make_shared<spire::Model>();
  model->name = "softplus_network";
  model->layers = [](spire::Graph& graph, const spire::ModelInputs& inputs) {
    spire::Value hidden = softplus(graph, spire::dense(graph, "hidden", inputs.first(), 32));
    return spire::dense(graph, "output", hidden, 1);
  };
  spire::RunConfig config;
  config.devices = {argc > 1 ? argv[1] : "cpu"};
  config.optimizer.name = spire::OptimizerConfig::Name::adam;
  config.optimizer.lr = 0.01;
  config.batch_size = 64;
  config.epochs = 40;
  spire::Trainer trainer(config,
                         spire::array_source({spire::array("features", x.data(), {2048, 1}),
                                              spire::array("values", squares.data(), {2048, 1})}),
                         {.model = model});
  spire::EvaluationResult result = trainer.fit();
  std::printf("%s %.4f\n", std::string(spire::to_string(result.metric.metric)).c_str(),
              result.metric.value);
  return result.metric.value < 0.1 ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
