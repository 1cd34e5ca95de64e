#include "kernels/ops/recurrent/recurrent.h"

#include <cmath>

#include <tests/kernels/eager.h>

namespace spire::testing {
namespace {

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

// One step of a sample: x, a (G H), h and c (H) before -> h and c, and what is saved (S, H).
struct Unit {
  double h = 0, c = 0;
  std::vector<double> saved;
};
Unit lstm_unit(const std::vector<double>& x, const std::vector<double>& a, double, double c) {
  double i = logistic(x[0] + a[0]), f = logistic(x[1] + a[1]), g = std::tanh(x[2] + a[2]),
         o = logistic(x[3] + a[3]);
  c = f * c + i * g;
  return {o * std::tanh(c), c, {i, f, g, o, c}};
}
Unit gru_unit(const std::vector<double>& x, const std::vector<double>& a, double h, double) {
  double r = logistic(x[0] + a[0]), z = logistic(x[1] + a[1]), n = std::tanh(x[2] + r * a[2]);
  return {(1 - z) * n + z * h, 0, {r, z, n, a[2]}};
}

std::vector<HostTensor> recurrent_reference(Tensors in, RecurrentCell cell) {
  const HostTensor &x = in[0], &w = in[1], &b = in[2];
  int64_t gates = gates_of(cell), saved = saved_of(cell);
  int64_t samples = x.shape[0], steps = x.shape[1], units = w.shape[1];
  std::vector<HostTensor> out = {zeros({samples, steps, units}),
                                 zeros({samples, steps, saved, units})};
  for (int64_t n = 0; n < samples; ++n) {
    std::vector<double> h(static_cast<size_t>(units), 0.0), c = h;
    for (int64_t t = 0; t < steps; ++t) {
      std::vector<double> before = h;
      for (int64_t u = 0; u < units; ++u) {
        std::vector<double> of_x, a;
        for (int64_t g = 0; g < gates; ++g) {
          int64_t row = g * units + u;
          double sum = b[row];
          for (int64_t k = 0; k < units; ++k)
            sum += w[row * units + k] * before[static_cast<size_t>(k)];
          a.push_back(sum);
          of_x.push_back(x[(n * steps + t) * gates * units + row]);
        }
        auto own = static_cast<size_t>(u);
        Unit unit = cell == RecurrentCell::lstm ? lstm_unit(of_x, a, before[own], c[own])
                                                : gru_unit(of_x, a, before[own], c[own]);
        h[own] = unit.h;
        c[own] = unit.c;
        out[0][(n * steps + t) * units + u] = unit.h;
        for (int64_t k = 0; k < saved; ++k)
          out[1][((n * steps + t) * saved + k) * units + u] = unit.saved[static_cast<size_t>(k)];
      }
    }
  }
  return out;
}

OpCase recurrent_case(RecurrentCell cell, int64_t samples, int64_t steps, int64_t units) {
  OpCase test;
  test.op = std::make_shared<RecurrentOp>(RecurrentAttributes{cell});
  int64_t rows = gates_of(cell) * units;
  double bound = 1.5 / std::sqrt(static_cast<double>(units));
  test.inputs = {activation(uniform({samples, steps, rows}, 501)),
                 parameter(uniform({rows, units}, 502, -bound, bound)),
                 parameter(uniform({rows}, 503, -0.5, 0.5))};
  test.reference = [cell](Tensors in) { return recurrent_reference(in, cell); };
  // States are at most 1, and an error of one step goes through those behind it.
  test.floor = 1;
  test.value_factor = 8;
  test.gradient_factor = 32;
  test.any_threads = true;
  return test;
}

// In 16 bits a step reads rounded states, so what is fp32 has the error of 16 bits, too: what is
// saved, and the gradients of w and b.
void check_recurrent(OpCase test, const Environment& environment) {
  double coarser = unit_roundoff(environment.dtype) / unit_roundoff(DType::f32);
  Reference plain = test.reference;
  test.magnitude = [=](Tensors in) {
    auto bound = absolute(plain(in));
    for (double& b : bound[1].data) b = (b + 1) * coarser;
    return bound;
  };
  OpCase of_weights = test;
  of_weights.gradient_factor *= coarser;
  of_weights.any_threads = false;  // they are a dense layer's
  of_weights.inputs[0].differentiate = false;
  for (int i : {1, 2}) test.inputs[static_cast<size_t>(i)].differentiate = false;
  check_op(test, environment);
  check_gradient(of_weights, environment);
}

SPIRE_OP_TEST(RecurrentTest);

// Units that fill no register, one, and several; one step, which reads no state; one sample.
TEST_P(RecurrentTest, ValuesAndGradients) {
  for (RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    check_recurrent(recurrent_case(cell, 3, 4, 5), GetParam());
    check_recurrent(recurrent_case(cell, 2, 3, 16), GetParam());
    check_recurrent(recurrent_case(cell, 1, 2, 37), GetParam());
    check_recurrent(recurrent_case(cell, 4, 1, 3), GetParam());
  }
}

TEST_P(RecurrentTest, BitsDoNotDependOnOtherSamples) {
  for (RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    OpCase test = recurrent_case(cell, 5, 6, 19);
    auto one = run_op(*test.op, test.inputs, GetParam());
    // The first two samples alone.
    HostTensor& x = test.inputs[0].tensor;
    x.data.resize(static_cast<size_t>(2 * x.size() / 5));
    x.shape = {2, x.shape[1], x.shape[2]};
    auto alone = run_op(*test.op, test.inputs, GetParam())[0];
    one[0].data.resize(alone.data.size());
    EXPECT_EQ(alone.data, one[0].data);
  }
}

// What nn.LSTM and nn.GRU of PyTorch 2 compute in float64 for x[i] = cos(0.9 i) and the parameters
// p[i] = 0.7 sin(1.3 i + k), k = 1 to 4 for weight_ih, weight_hh, bias_ih and bias_hh.
HostTensor sines(const Shape& shape, double phase) {
  HostTensor made = zeros(shape);
  for (int64_t i = 0; i < made.size(); ++i)
    made[i] = 0.7 * std::sin(1.3 * static_cast<double>(i) + phase);
  return made;
}

void expect_as_pytorch(RecurrentCell cell, const std::vector<double>& want) {
  constexpr int64_t samples = 2, steps = 3, features = 2, units = 3;
  int64_t rows = gates_of(cell) * units;
  HostTensor w = sines({rows, features}, 1), b = sines({rows}, 3),
             x = zeros({samples, steps, rows});
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t row = i % rows, step = i / rows;
    x[i] = b[row];
    for (int64_t k = 0; k < features; ++k)
      x[i] += w[row * features + k] * std::cos(0.9 * static_cast<double>(step * features + k));
  }
  std::vector<Input> inputs = {activation(x), parameter(sines({rows, units}, 2)),
                               parameter(sines({rows}, 4))};
  HostTensor y = run_op(RecurrentOp({cell}), inputs, {})[0];
  for (int64_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want[static_cast<size_t>(i)], 1e-6) << i;
}

TEST(RecurrentOp, ComputesWhatPyTorchDoes) {
  expect_as_pytorch(
      RecurrentCell::lstm,
      {-0.316331828, 0.033725819, 0.045905218, -0.325608988, -0.030306095, 0.114321074,
       -0.335820575, -0.022966476, 0.130373495, -0.353927669, 0.029651791, 0.045120052,
       -0.399268424, 0.041252766, 0.074403625, -0.380055455, -0.026473642, 0.141545227});
  expect_as_pytorch(RecurrentCell::gru,
                    {-0.214062103, 0.16954275, 0.248734031, -0.193297862, -0.022879806, 0.706867749,
                     -0.172324017, -0.064593831, 0.537025999, -0.271207, 0.195762824, 0.176931674,
                     -0.376985268, 0.0637408, 0.524755295, -0.165529402, -0.02689854, 0.725340428});
}

TEST(RecurrentOp, RefusesInputsThatDoNotFit) {
  TensorSpec x = f32({2, 3, 20}), w = f32({20, 5}), b = f32({20});
  EXPECT_EQ(RecurrentOp().infer(std::vector{x, w, b})[0].shape, (Shape{2, 3, 5}));
  EXPECT_EQ(refusal(RecurrentOp({RecurrentCell::gru}), {x, w, b}),
            "[gru] takes weights fp32 (3 H, H), got fp32 (20, 5)");
  EXPECT_EQ(refusal(RecurrentOp(), {f32({2, 3, 15}), w, b}),
            "[lstm] the input must be (N, T, 20), got fp32 (2, 3, 15)");
  EXPECT_THROW(RecurrentOp().infer(std::vector{x, w, f32({5})}), Error);
  EXPECT_THROW(RecurrentOp().infer(std::vector{f32({6, 20}), w, b}), Error);
}

}  // namespace
}  // namespace spire::testing
