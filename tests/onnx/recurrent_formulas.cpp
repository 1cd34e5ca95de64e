// LSTM and GRU of one direction, as https://onnx.ai/onnx/operators has them.
#include <cmath>
#include <stdexcept>

#include "tests/onnx/reference_run.h"

namespace spire {
namespace {

using Inputs = std::vector<const OnnxArray*>;
using Doubles = std::vector<double>;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// matrix (1, rows, columns) times a vector, and the biases of `rows` rows from `first` on.
Doubles product(const OnnxArray& matrix, const double* vector, const OnnxArray& biases,
                int64_t first) {
  int64_t rows = matrix.dims[1], columns = matrix.dims[2];
  Doubles sums;
  for (int64_t row = 0; row < rows; ++row) {
    double sum = biases.data[static_cast<size_t>(first + row)];
    for (int64_t k = 0; k < columns; ++k)
      sum += matrix.data[static_cast<size_t>(row * columns + k)] * vector[k];
    sums.push_back(sum);
  }
  return sums;
}

struct State {
  double h = 0, c = 0;
};

// wx, rh: sums of the gates i, o, f, c, for unit u of `units`.
State lstm_unit(const Doubles& wx, const Doubles& rh, size_t u, size_t units, State before) {
  auto gate = [&](size_t g) { return wx[g * units + u] + rh[g * units + u]; };
  double c = sigmoid(gate(2)) * before.c + sigmoid(gate(0)) * std::tanh(gate(3));
  return {sigmoid(gate(1)) * std::tanh(c), c};
}

// The gates z, r, h.
State gru_unit(const Doubles& wx, const Doubles& rh, size_t u, size_t units, State before) {
  auto gate = [&](size_t g) { return wx[g * units + u] + rh[g * units + u]; };
  double z = sigmoid(gate(0)), r = sigmoid(gate(1));
  double h = std::tanh(wx[2 * units + u] + r * rh[2 * units + u]);
  return {(1 - z) * h + z * before.h, 0};
}

using UnitFormula = State (*)(const Doubles&, const Doubles&, size_t, size_t, State);

// x (T, N, F) -> (T, 1, N, H)
OnnxArrays recurrent(const ParsedNode& node, const Inputs& in, UnitFormula unit) {
  const OnnxArray &x = *in[0], &w = *in[1], &r = *in[2], &b = *in[3];
  int64_t steps = x.dims[0], samples = x.dims[1], features = x.dims[2];
  auto units = static_cast<size_t>(node.at("hidden_size").i);
  OnnxArray y = zeros({steps, 1, samples, static_cast<int64_t>(units)});
  for (int64_t n = 0; n < samples; ++n) {
    std::vector<State> states(units);
    for (int64_t t = 0; t < steps; ++t) {
      Doubles h;
      for (const State& state : states) h.push_back(state.h);
      int64_t row = t * samples + n;
      Doubles wx = product(w, x.data.data() + row * features, b, 0);
      Doubles rh = product(r, h.data(), b, w.dims[1]);
      for (size_t u = 0; u < units; ++u) {
        states[u] = unit(wx, rh, u, units, states[u]);
        y.data[static_cast<size_t>(row) * units + u] = states[u].h;
      }
    }
  }
  return {y};
}

}  // namespace

OnnxFormulas recurrent_formulas() {
  return {{"LSTM",
           [](const ParsedNode& node, const Inputs& in) { return recurrent(node, in, lstm_unit); }},
          {"GRU", [](const ParsedNode& node, const Inputs& in) {
             if (node.at("linear_before_reset").i != 1) throw std::runtime_error("another form");
             return recurrent(node, in, gru_unit);
           }}};
}

}  // namespace spire
