// A loss, an op and an optimizer of the program: a robust regressor on data with outliers.
#include <cmath>
#include <cstdio>
#include <vector>

#include <spire/spire.h>

// log cosh(x): squares near 0, absolute values far away. Its gradient is an op, too: tanh(x) dy.
class LogCosh : public spire::Op {
 public:
  explicit LogCosh(bool backward = false) : backward_(backward) {}
  std::string_view name() const override { return backward_ ? "log_cosh_backward" : "log_cosh"; }
  std::vector<spire::TensorSpec> infer(std::span<const spire::TensorSpec> inputs) const override {
    return {inputs[0]};
  }
  void gradient(spire::GradientBuilder& builder) const override {
    builder.set_gradient(0, builder.emit(std::make_unique<LogCosh>(true),
                                         {builder.input(0), builder.output_gradient(0)})[0]);
  }
  spire::Kernel make_kernel(const spire::KernelRequest& request) const override {
    auto count = request.inputs[0].shape.elements();
    return [backward = backward_, count](const spire::KernelArgs& args) {
      const float *x = args.in<float>(0), *dy = backward ? args.in<float>(1) : nullptr;
      float* out = args.out<float>(0);
      for (int64_t i = 0; i < count; ++i)
        out[i] = backward ? std::tanh(x[i]) * dy[i]
                          : std::abs(x[i]) + std::log1p(std::exp(-2 * std::abs(x[i])));
    };
  }
  const bool backward_;
};

// Lion (Chen et al., 2023): the sign of an average of gradients.
class Lion : public spire::Optimizer {
 public:
  std::vector<std::string> state() const override { return {"average"}; }
  void update(const spire::OptimizerSlice& at) const override {
    for (int64_t i = 0; i < at.count; ++i) {
      float gradient = at.gradient_factor * at.gradients[i], &average = at.state[0][i];
      float mixed = 0.9f * average + 0.1f * gradient;
      at.weights[i] -= at.lr * (std::copysign(mixed != 0, mixed) + at.weight_decay * at.weights[i]);
      average = 0.99f * average + 0.01f * gradient;
    }
  }
};

int main() try {
  std::vector<float> x(4096), y(4096);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 2048 - 1;
  for (size_t i = 0; i < x.size(); ++i) y[i] = i % 20 == 0 ? 30.0f : x[i] * x[i];  // outliers
  auto model = std::make_shared<spire::Model>();
  model->name = "robust_regressor";
  model->layers = [](spire::Graph& graph, const spire::ModelInputs& inputs) {
    spire::Value x = spire::relu(graph, spire::dense(graph, "hidden", inputs.first(), 32));
    return spire::dense(graph, "output", x, 1);
  };
  model->loss = [](spire::Graph& graph, spire::Value output, const spire::ModelInputs& inputs) {
    spire::Value error = spire::sub(graph, output, inputs["values"]);
    spire::add_mean_loss(graph, graph.emit_op<LogCosh>({error})[0]);
    spire::mark_score(graph, spire::abs(graph, error));
  };
  spire::RunConfig config;
  config.devices = {"cpu"};
  config.batch_size = 64;
  config.epochs = 60;
  config.optimizer.own = std::make_shared<Lion>();
  config.optimizer.lr = 0.002;
  spire::Trainer trainer(config,
                         spire::array_source({spire::array("features", x.data(), {4096, 1}),
                                              spire::array("values", y.data(), {4096, 1})}),
                         {.model = model});
  trainer.fit();
  std::vector<float> at = {-0.8f, 0}, outputs = trainer.predict(at.data(), 2);
  std::printf("%.2f %.2f\n", outputs[0], outputs[1]);
  return std::abs(outputs[0] - 0.64f) < 0.15f && std::abs(outputs[1]) < 0.15f ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
