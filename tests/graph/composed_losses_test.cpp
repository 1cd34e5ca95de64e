// Losses that are written as a graph: a network trained with one follows a float64 recurrence, and
// one that Spire also has as an op is the same number with the same gradients.
#include <cmath>
#include <vector>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/layers.h>

#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int inputs = 3, hidden = 4, outputs = 2;
constexpr double knee = 0.5;  // of the Huber loss

// Numbers in [-scale, scale] without a pattern.
std::vector<float> made_numbers(int64_t count, float scale, int seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(scale * std::sin(static_cast<float>(7 * i + seed * i * i + seed)));
  return numbers;
}

// Huber, "Robust Estimation of a Location Parameter", 1964: d^2 / 2 up to the knee k, then k |d| -
// k^2 / 2. With o = max(|d| - k, 0) that is (|d| - o)^2 / 2 + k o.
Value huber(Graph& graph, Value prediction, Value target) {
  Value distance = abs(graph, sub(graph, prediction, target));
  Value over = relu(graph, scale(graph, distance, 1, static_cast<float>(-knee)));
  Value within = square(graph, sub(graph, distance, over));
  return add(graph, scale(graph, within, 0.5f), scale(graph, over, static_cast<float>(knee)));
}

Value squared_error(Graph& graph, Value prediction, Value target) {
  return square(graph, sub(graph, prediction, target));
}

using AddLoss = std::function<void(Graph& graph, Value prediction, Value target)>;

// Two dense layers with a tanh between, and the loss.
Graph network(int64_t samples, const AddLoss& add_loss, DType dtype = DType::f32) {
  Graph graph(true, dtype);
  Value x = graph.input("x", {{samples, inputs}, dtype});
  Value target = graph.input("target", {{samples, outputs}, DType::f32});
  x = tanh(graph, dense(graph, "a", x, hidden));
  add_loss(graph, dense(graph, "b", x, outputs), target);
  return graph;
}

AddLoss mean_of(Value (*formula)(Graph&, Value, Value)) {
  return [formula](Graph& graph, Value prediction, Value target) {
    add_mean_loss(graph, formula(graph, cast(graph, prediction, DType::f32), target));
  };
}

struct Batch {
  int64_t samples;
  std::vector<float> x, target;
};

Batch made_batch(int64_t samples) {
  return {samples, made_numbers(samples * inputs, 1, 3), made_numbers(samples * outputs, 2, 5)};
}

Batch rows_of(const Batch& batch, int64_t first, int64_t count) {
  auto part = [&](const std::vector<float>& all, int64_t width) {
    return std::vector<float>(all.begin() + first * width, all.begin() + (first + count) * width);
  };
  return {count, part(batch.x, inputs), part(batch.target, outputs)};
}

using Weights = std::map<std::string, std::vector<float>>;

Weights made_weights() {
  return {{"a.weight", made_numbers(hidden * inputs, 0.7f, 11)},
          {"a.bias", made_numbers(hidden, 0.2f, 13)},
          {"b.weight", made_numbers(outputs * hidden, 0.7f, 17)},
          {"b.bias", made_numbers(outputs, 0.2f, 19)}};
}

// The loss of the batch, and gradients of the loss divided by `samples`.
GraphRun run_network(Graph graph, const Batch& batch, const Weights& weights, int64_t samples,
                     int threads = 1) {
  RunChoices choices{.threads = threads};
  choices.fill = [&](const ParameterEntry& entry, std::span<float> values) {
    std::ranges::copy(weights.at(entry.name), values.begin());
  };
  return run_graph(std::move(graph), {batch.x.data(), batch.target.data()},
                   static_cast<size_t>(samples), choices);
}

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix matrix(const std::vector<float>& values, int64_t rows) {
  int64_t columns = std::ssize(values) / rows;
  return Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
             values.data(), rows, columns)
      .cast<double>();
}

// The same network in float64, trained by plain gradient descent.
class ExactNetwork {
 public:
  explicit ExactNetwork(const Weights& weights)
      : a_(matrix(weights.at("a.weight"), hidden)),
        b_(matrix(weights.at("b.weight"), outputs)),
        bias_a_(matrix(weights.at("a.bias"), 1)),
        bias_b_(matrix(weights.at("b.bias"), 1)) {}

  // Returns the batch's loss before the step.
  double train(const Batch& batch, double rate) {
    Matrix x = matrix(batch.x, batch.samples);
    Matrix h = ((x * a_.transpose()).rowwise() + bias_a_.row(0)).array().tanh();
    Matrix d =
        ((h * b_.transpose()).rowwise() + bias_b_.row(0)) - matrix(batch.target, batch.samples);
    double loss = d.unaryExpr([](double v) { return value(v); }).sum() / outputs;
    double share = 1.0 / outputs / static_cast<double>(batch.samples);
    Matrix dp = share * d.unaryExpr([](double v) { return std::clamp(v, -knee, knee); });
    Matrix dh = (dp * b_).array() * (1 - h.array().square());
    b_ -= rate * dp.transpose() * h;
    bias_b_ -= rate * dp.colwise().sum();
    a_ -= rate * dh.transpose() * x;
    bias_a_ -= rate * dh.colwise().sum();
    return loss;
  }

 private:
  static double value(double d) {
    d = std::abs(d);
    return d <= knee ? d * d / 2 : knee * d - knee * knee / 2;
  }

  Matrix a_, b_, bias_a_, bias_b_;
};

TEST(ComposedLosses, HuberTrainsAsInFloat64) {
  constexpr float rate = 0.5f;
  Batch batch = made_batch(7);
  Weights weights = made_weights();
  ExactNetwork exact(weights);
  double first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    GraphRun run = run_network(network(7, mean_of(huber)), batch, weights, 7);
    double expected = exact.train(batch, double{rate});
    ASSERT_NEAR(run.loss, expected, 1e-5 * expected) << "step " << step;
    (step == 0 ? first : last) = run.loss;
    for (auto& [name, values] : weights)
      for (size_t i = 0; i < values.size(); ++i) values[i] -= rate * run.gradients.at(name)[i];
  }
  EXPECT_LT(last, 0.7 * first);
}

void expect_equal_runs(const GraphRun& a, const GraphRun& b) {
  EXPECT_NEAR(a.loss, b.loss, 1e-7 * a.loss);
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (const auto& [name, gradient] : a.gradients)
    for (size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(gradient[i], b.gradients.at(name)[i], 1e-6) << name << " " << i;
}

void add_own_mse(Graph& graph, Value prediction, Value target) {
  reconstruction_loss(graph, prediction, target, Regression::mse);
}

TEST(ComposedLosses, MseIsThatOfTheOp) {
  Batch batch = made_batch(9);
  for (int threads : {1, 2}) {
    auto run = [&](const AddLoss& add_loss) {
      return run_network(network(9, add_loss), batch, made_weights(), 9, threads);
    };
    expect_equal_runs(run(add_own_mse), run(mean_of(squared_error)));
  }
}

// Predictions in bf16 against fp32 targets: cast() gives the differences in fp32, as the op does.
TEST(ComposedLosses, MseOfPredictionsIn16BitsIsThatOfTheOp) {
  Batch batch = made_batch(9);
  std::vector<bfloat16> x(batch.x.begin(), batch.x.end());
  auto run = [&](const AddLoss& add_loss) {
    return run_graph(network(9, add_loss, DType::bf16), {x.data(), batch.target.data()}, 9);
  };
  GraphRun op = run(add_own_mse), composed = run(mean_of(squared_error));
  EXPECT_EQ(op.gradients.at("b.bias"), composed.gradients.at("b.bias"));
  EXPECT_NEAR(op.loss, composed.loss, 1e-7 * op.loss);
}

// Towers of 4 and 3 samples, one of them the ragged last batch: their losses and gradients add up
// to those of all 7.
TEST(ComposedLosses, TowersAddUp) {
  Batch batch = made_batch(7);
  auto run = [&](const Batch& tower) {
    return run_network(network(tower.samples, mean_of(huber)), tower, made_weights(), 7);
  };
  GraphRun all = run(batch), sum = run(rows_of(batch, 0, 4)), rest = run(rows_of(batch, 4, 3));
  sum.loss += rest.loss;
  for (auto& [name, gradient] : sum.gradients)
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] += rest.gradients.at(name)[i];
  expect_equal_runs(all, sum);
}

// Cross entropy, - sum_c t_c ln softmax(x)_c, of one-hot targets.
TEST(ComposedLosses, CrossEntropyIsThatOfTheOp) {
  constexpr int64_t samples = 6;
  Batch batch = made_batch(samples);
  std::vector<int32_t> labels;
  for (int64_t n = 0; n < samples; ++n) {
    labels.push_back(static_cast<int32_t>(n % outputs));
    for (int c = 0; c < outputs; ++c)
      batch.target[static_cast<size_t>(n * outputs + c)] = n % outputs == c ? -1 : 0;
  }
  Graph op(true);
  Value x = op.input("x", {{samples, inputs}, DType::f32});
  Value label = op.input("labels", {{samples}, DType::i32});
  cross_entropy_loss(op, dense(op, "b", tanh(op, dense(op, "a", x, hidden)), outputs), label, 0);
  Batch labelled = batch;
  labelled.target.resize(labels.size());
  std::memcpy(labelled.target.data(), labels.data(), labels.size() * sizeof(int32_t));
  auto composed = [](Graph& graph, Value logits, Value minus_one_hot) {
    add_mean_loss(graph, sum(graph, mul(graph, log_softmax(graph, logits), minus_one_hot), -1));
  };
  expect_equal_runs(run_network(std::move(op), labelled, made_weights(), samples),
                    run_network(network(samples, composed), batch, made_weights(), samples));
}

// A score is a sum over samples as the loss is, here of mean absolute errors, and trains nothing.
TEST(ComposedLosses, AScoreTrainsNothing) {
  Batch batch = made_batch(5);
  auto scored = [](Graph& graph, Value prediction, Value target) {
    add_mean_loss(graph, squared_error(graph, prediction, target));
    mark_score(graph, mean(graph, abs(graph, sub(graph, prediction, target)), 1));
  };
  auto absolute = [](Graph& graph, Value prediction, Value target) {
    add_mean_loss(graph, abs(graph, sub(graph, prediction, target)));
  };
  GraphRun run = run_network(network(5, scored), batch, made_weights(), 5);
  expect_equal_runs(run_network(network(5, mean_of(squared_error)), batch, made_weights(), 5), run);
  EXPECT_NEAR(run.score, run_network(network(5, absolute), batch, made_weights(), 5).loss, 1e-6);
}

TEST(ComposedLosses, AGraphHasOneLossAndOneScore) {
  Graph graph(true);
  Value x = graph.parameter("w", {4, 3}, init::constant(1));
  add_mean_loss(graph, x);
  mark_score(graph, x);
  EXPECT_EQ(message_of(Category::config, [&] { add_mean_loss(graph, x); }),
            "the graph has a loss already; add up its terms and mark their sum");
  EXPECT_EQ(message_of(Category::config, [&] { mark_score(graph, x); }),
            "the graph has a score already; add up its terms and mark their sum");
  EXPECT_EQ(graph.losses().size(), 1u);
}

TEST(ComposedLosses, AxesCountFromBothEnds) {
  Graph graph(true);
  Value x = graph.input("x", {{4, 3, 5}, DType::f32});
  EXPECT_EQ(graph.spec(sum(graph, x, 1)).shape, (Shape{4, 5}));
  EXPECT_EQ(graph.spec(mean(graph, x, -1)).shape, (Shape{4, 3}));
  EXPECT_EQ(message_of(Category::config, [&] { mean(graph, x, -4); }),
            "[mean] fp32 (4, 3, 5) has no axis -4; use -3 to 2");
  EXPECT_EQ(message_of(Category::config, [&] { sum(graph, x, 3); }),
            "[sum] fp32 (4, 3, 5) has no axis 3; use -3 to 2");
}

}  // namespace
}  // namespace spire
