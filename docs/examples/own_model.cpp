// A model of layer functions with a loss of its own, and a run with files: a small residual network
// that finds the stronger of two frequencies, trained by train().
#include <cmath>
#include <cstdio>
#include <vector>

#include <spire/spire.h>

namespace {

constexpr int64_t samples = 2000, length = 32;

// Two sines in turns: the number to find is the share of the first.
void make_waves(std::vector<float>& waves, std::vector<float>& shares) {
  for (int64_t i = 0; i < samples; ++i) {
    float share = static_cast<float>(i % 101) / 100;
    for (int64_t t = 0; t < length; ++t) {
      float x = static_cast<float>(t) * 0.2f + static_cast<float>(i) * 0.01f;
      waves.push_back(share * std::sin(x) + (1 - share) * std::sin(3 * x));
    }
    shares.push_back(share);
  }
}

spire::Value block(spire::Graph& graph, const std::string& name, spire::Value x) {
  spire::Value y = spire::gelu(graph, spire::dense(graph, name + ".a", x, 64));
  y = spire::dense(graph, name + ".b", y, graph.spec(x).shape.back());
  return spire::layer_norm(graph, name + ".norm", spire::add(graph, x, y));
}

std::shared_ptr<spire::Model> residual_model() {
  auto model = std::make_shared<spire::Model>();
  model->name = "waves";
  model->layers = [](spire::Graph& graph, const spire::ModelInputs& inputs) {
    spire::Value x = spire::dense(graph, "stem", inputs.first(), 32);
    for (int i = 0; i < 3; ++i) x = block(graph, "block" + std::to_string(i), x);
    return spire::dense(graph, "head", x, 1);
  };
  // Pseudo-Huber: quadratic below errors of 0.1, linear above. The score is the mean error.
  model->loss = [](spire::Graph& graph, spire::Value output, const spire::ModelInputs& inputs) {
    spire::Value error = spire::sub(graph, output, inputs["values"]);
    spire::Value squares = spire::square(graph, spire::scale(graph, error, 10));
    spire::add_mean_loss(graph, spire::sqrt(graph, spire::scale(graph, squares, 1, 1)));
    spire::mark_score(graph, spire::abs(graph, error));
  };
  model->metric = spire::Metric::error;
  return model;
}

// Prints each evaluation.
class Progress : public spire::Observer {
  void on_eval(const spire::EvalReport& report) override {
    std::printf("step %d: loss %.4f, %s\n", static_cast<int>(report.step), report.loss,
                spire::metric_text(report.metric).c_str());
  }
};

}  // namespace

int main(int argc, char** argv) try {
  std::vector<float> waves, shares;
  make_waves(waves, shares);
  spire::RunConfig config;
  config.optimizer.name = spire::OptimizerConfig::Name::adam;
  config.optimizer.lr = 0.002;
  config.batch_size = 100;
  config.epochs = 15;
  config.output = argc > 1 ? argv[1] : "runs/own_model";
  spire::RunOptions options;
  options.overwrite = true;
  options.model = residual_model();
  options.data = spire::array_source({spire::array("features", waves.data(), {samples, length}),
                                      spire::array("values", shares.data(), {samples, 1})});
  Progress progress;
  spire::RunResult result = spire::train(config, options, progress);
  return result.exit_code;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
