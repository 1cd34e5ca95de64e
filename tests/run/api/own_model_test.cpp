// Models and ops of the calling program.
#include <atomic>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "tests/run/api/point_data.h"

namespace spire {
namespace {

std::shared_ptr<Model> own_mlp() {
  auto model = std::make_shared<Model>();
  model->name = "mine";
  model->layers = [](Graph& graph, const ModelInputs& inputs) {
    Value x = flatten(graph, inputs.first());
    x = relu(graph, dense(graph, "dense1", x, 16));
    x = dropout(graph, x, 0.2f);
    return dense(graph, "dense2", x, 1, true, init::linear_uniform(16));
  };
  return model;
}

uint64_t trained_hash(const RunConfig& config, std::shared_ptr<const Model> model) {
  PointData data(40);
  Trainer trainer(config, data.source(), {.model = std::move(model)});
  trainer.fit();
  return trainer.parameter_hash();
}

TEST(OwnModel, OfTheSameLayersHasTheBitsOfTheNamedOne) {
  for (auto precision : {RunConfig::Precision::fp32, RunConfig::Precision::bf16}) {
    RunConfig one = point_config(), two = point_config({"2xcpu"}), named = one;
    named.model = {.name = "mlp", .hidden = {16}, .dropout = 0.2};
    one.precision = two.precision = named.precision = precision;
    EXPECT_EQ(trained_hash(one, own_mlp()), trained_hash(named, nullptr));
    EXPECT_EQ(trained_hash(two, own_mlp()), trained_hash(named, nullptr));
  }
}

TEST(OwnModel, MayHaveALossOfItsOwn) {
  auto model = own_mlp();
  model->metric = Metric::error;
  model->loss = [](Graph& graph, Value output, const ModelInputs& inputs) {
    reconstruction_loss(graph, output, inputs["values"], Regression::l1);
  };
  PointData data(16);
  Trainer trainer(point_config(), data.source(), {.model = model});
  std::vector<float> outputs = trainer.predict(data.features.data(), 16);
  double l1 = 0, mse = 0;
  for (size_t i = 0; i < 16; ++i) {
    double d = outputs[i] - data.values[i];
    l1 += std::abs(d) / 16, mse += d * d / 16;
  }
  EvaluationResult result = trainer.evaluate();
  EXPECT_NEAR(result.loss, l1, 1e-6);
  EXPECT_EQ(result.metric.metric, Metric::error);
  EXPECT_NEAR(result.metric.value, mse, 1e-6);
}

// Words of a table that are embedded are vectors for every model.
TEST(OwnModel, ReadsEmbeddedWordsAsTheNamedOneDoes) {
  std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("spire_words_{}.csv", ::getpid());
  std::ofstream table(file);
  table << "size,place,price\n";
  const char* const places[] = {"north", "south", "east", "west", "centre"};
  for (int i = 0; i < 40; ++i) table << fmt::format("{}.5,{},{}.25\n", i % 7, places[i * i % 5], i);
  table.close();
  auto trained = [&](const std::string& words, std::shared_ptr<const Model> model) {
    RunConfig config = point_config();
    config.data = parse_config({}, {"data.name=csv", "data.path=" + file.string(),
                                    "data.csv.categories=" + words})
                      .config.data;
    config.model = {.name = "mlp", .hidden = {16}, .dropout = 0.2};
    Trainer trainer(config, {.model = std::move(model)});
    trainer.fit();
    return std::pair{trainer.parameter_hash(), trainer.weights().size()};
  };
  auto embedded = trained("embedding", own_mlp());
  EXPECT_EQ(embedded, trained("embedding", nullptr));
  auto one_hot = trained("one_hot", own_mlp());
  EXPECT_EQ(one_hot, trained("one_hot", nullptr));
  EXPECT_EQ(embedded.second, one_hot.second + 1);
  std::filesystem::remove(file);
}

// Reads two columns that no model of Spire knows.
TEST(OwnModel, ReadsColumnsOfAnyName) {
  std::vector<float> left = {1, 2, 3, 4, 5, 6, 7, 8}, right = {8, 7, 6, 5, 4, 3, 2, 1};
  std::vector<float> values(8, 1.0f);
  auto model = std::make_shared<Model>();
  model->name = "two_inputs";
  model->layers = [](Graph& graph, const ModelInputs& inputs) {
    return dense(graph, "dense", concat(graph, {inputs["left"], inputs["right"]}, 1), 1);
  };
  DataSource source =
      array_source({array("left", left.data(), {8, 1}), array("right", right.data(), {8, 1}),
                    array("values", values.data(), {8, 1})});
  Trainer trainer(point_config(), source, {.model = model});
  std::vector<float> weight = {1, 1}, bias = {-8};
  trainer.write_weight("dense.weight", weight);
  trainer.write_weight("dense.bias", bias);
  EXPECT_NEAR(trainer.evaluate().loss, 0, 1e-10);  // left + right - 8 = 1
  expect_error(Category::config, "reads column 'right' besides the first one",
               [&] { trainer.predict(left.data(), 8); });
}

TEST(OwnModel, IsRefusedForWhatItLacks) {
  auto make = [](std::shared_ptr<Model> model) {
    return [model = std::move(model)] {
      PointData data(16);
      Trainer trainer(point_config(), data.source(), {.model = model});
    };
  };
  auto changed = [](const std::function<void(Model&)>& change) {
    auto model = own_mlp();
    change(*model);
    return model;
  };
  expect_error(Category::config, "'cnn' is no name",
               make(changed([](Model& model) { model.name = "cnn"; })));
  expect_error(Category::config, "has no layers",
               make(changed([](Model& model) { model.layers = nullptr; })));
  expect_error(Category::config, "its output is (4, 16), but for a batch of 4 it must be (4, 1)",
               make(changed([](Model& model) {
                 model.layers = [](Graph& graph, const ModelInputs& inputs) {
                   return dense(graph, "dense", inputs.first(), 16);
                 };
               })));
  expect_error(Category::config, "its layers return no value", make(changed([](Model& model) {
                 model.layers = [](Graph&, const ModelInputs&) { return Value(); };
               })));
  expect_error(
      Category::config, "mark the outputs 'loss' and 'score'",
      make(changed([](Model& model) { model.loss = [](Graph&, Value, const ModelInputs&) {}; })));
  expect_error(Category::config, "no column 'labels'; it has features, values",
               make(changed([](Model& model) {
                 model.loss = [](Graph& graph, Value output, const ModelInputs& inputs) {
                   mse_loss(graph, output, inputs["labels"]);
                 };
               })));
}

TEST(OwnModel, AndOwnDataThrowWhatTheirCodeThrows) {
  auto model = std::make_shared<Model>();
  model->name = "throws";
  model->layers = [](Graph&, const ModelInputs&) -> Value { throw std::out_of_range("layers"); };
  PointData data(16);
  EXPECT_THROW(Trainer(point_config(), data.source(), {.model = model}), std::out_of_range);

  std::atomic<bool> fails = false;  // readers read ahead
  auto read = [&](int64_t sample, int64_t, std::span<std::byte* const> rows) {
    if (fails) throw std::out_of_range("row");
    std::copy_n(&data.features[static_cast<size_t>(3 * sample)], 3,
                reinterpret_cast<float*>(rows[0]));
    *reinterpret_cast<float*>(rows[1]) = data.values[static_cast<size_t>(sample)];
  };
  DataSource source = [&](const ReadOptions&) {
    DatasetPair pair;
    pair.train = function_dataset(data.spec(), 16, read);
    pair.test = function_dataset(data.spec(), 16, read);
    return pair;
  };
  // The program goes on: nothing ends it because an exception has passed the trainer.
  bool ended = false;
  Trainer trainer(point_config(), source,
                  {.on_exit_timeout = [&](const Failure&) { ended = true; }});
  fails = true;
  EXPECT_THROW(trainer.fit({.steps = 4}), std::out_of_range);
  fails = false;
  EXPECT_EQ(trainer.fit({.steps = 4}).samples, 16);
  EXPECT_FALSE(ended);
}

// y = x^2, and dx = 2 x dy.
class OwnSquare : public Op {
 public:
  explicit OwnSquare(bool backward) : backward_(backward) {}
  std::string_view name() const override { return backward_ ? "square_backward" : "square"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    return {inputs[0]};
  }
  void gradient(GradientBuilder& builder) const override {
    builder.set_gradient(0, builder.emit(std::make_unique<OwnSquare>(true),
                                         {builder.input(0), builder.output_gradient(0)})[0]);
  }
  Kernel make_kernel(const KernelRequest& request) const override {
    if (request.device.kind == DeviceKind::cuda || request.inputs[0].dtype != DType::f32)
      fail(Category::device, "[{}] is for fp32 on CPUs", name());
    return
        [backward = backward_, count = request.inputs[0].shape.elements()](const KernelArgs& args) {
          auto x = args.in<float>(0), dy = backward ? args.in<float>(1) : nullptr;
          for (int64_t i = 0; i < count; ++i)
            args.out<float>(0)[i] = dy ? 2 * x[i] * dy[i] : x[i] * x[i];
        };
  }

 private:
  bool backward_;
};

// p = (w x + b)^2 for one feature, whose gradient is 2 (p - v) 2 (w x + b) x.
TEST(OwnOp, TrainsByItsGradient) {
  std::vector<float> x = {1, -1, 2, 0.5f, 3, -2, 1.5f, -0.5f}, values(8, 0.25f);
  auto model = std::make_shared<Model>();
  model->name = "square";
  model->layers = [](Graph& graph, const ModelInputs& inputs) {
    return graph.emit_op<OwnSquare>({dense(graph, "dense", inputs.first(), 1)}, false)[0];
  };
  SampleSpec spec;
  spec.columns = {{"features", {1}, DType::f32}, {"values", {1}, DType::f32}};
  Trainer trainer(point_config({"2xcpu"}), spec, {.model = model});
  std::vector<float> w = {0.5f}, b = {0.1f};
  trainer.write_weight("dense.weight", w);
  trainer.write_weight("dense.bias", b);
  double dw = 0, db = 0;
  for (size_t i = 0; i < 8; ++i) {
    double h = 0.5 * x[i] + 0.1f, d = 4 * (h * h - values[i]) * h;
    dw += d * x[i] / 8, db += d / 8;
  }
  trainer.step({{x.data(), values.data()}, 8}, 0.01);
  trainer.read_weight("dense.weight", w);
  trainer.read_weight("dense.bias", b);
  EXPECT_NEAR(w[0], 0.5 - 0.01 * dw, 1e-6);
  EXPECT_NEAR(b[0], 0.1 - 0.01 * db, 1e-6);
}

TEST(OwnOp, RefusesADtypeThatItsKernelDoesNotTake) {
  auto model = std::make_shared<Model>();
  model->name = "square";
  model->layers = [](Graph& graph, const ModelInputs& inputs) {
    return graph.emit_op<OwnSquare>({dense(graph, "dense", inputs.first(), 1)}, false)[0];
  };
  PointData data(16);
  RunConfig config = point_config();
  config.precision = RunConfig::Precision::bf16;
  expect_error(Category::device, "[square] is for fp32 on CPUs",
               [&] { Trainer trainer(config, data.source(), {.model = model}); });
}

}  // namespace
}  // namespace spire
