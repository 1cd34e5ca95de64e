// Products of matrices, norms over the last axis, sums over an axis, operators that work element by
// element, and LSTM and GRU of one direction, as https://onnx.ai/onnx/operators has them.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "tests/onnx/reference_run.h"

namespace spire {
namespace {

using Inputs = std::vector<const OnnxArray*>;

// The element of x that belongs to element i of `dims`, by ONNX's rule of broadcasting.
double broadcast(const OnnxArray& x, const std::vector<int64_t>& dims, int64_t i) {
  int64_t index = 0, stride = 1;
  for (size_t back = 1; back <= dims.size(); ++back) {
    int64_t length = dims[dims.size() - back], place = i % length;
    i /= length;
    if (back > x.dims.size()) continue;
    int64_t own = x.dims[x.dims.size() - back];
    if (own != 1) index += place * stride;
    stride *= own;
  }
  return x.data[static_cast<size_t>(index)];
}

std::vector<int64_t> common_dims(const Inputs& in) {
  std::vector<int64_t> dims;
  for (const OnnxArray* x : in) {
    if (x->dims.size() > dims.size()) dims.insert(dims.begin(), x->dims.size() - dims.size(), 1);
    for (size_t back = 1; back <= x->dims.size(); ++back)
      dims[dims.size() - back] = std::max(dims[dims.size() - back], x->dims[x->dims.size() - back]);
  }
  return dims;
}

// f(values): of the elements of all inputs at one place.
template <typename F>
OnnxFormula elementwise(F f) {
  return [f](const ParsedNode& node, const Inputs& in) -> OnnxArrays {
    OnnxArray y = zeros(common_dims(in));
    for (int64_t i = 0; i < y.size(); ++i) {
      std::vector<double> values;
      for (const OnnxArray* x : in) values.push_back(broadcast(*x, y.dims, i));
      y.data[static_cast<size_t>(i)] = f(node, values);
    }
    return {y};
  };
}

double gelu(const ParsedNode& node, double x) {
  if (node.at("approximate").s == "none") return x * (1 + std::erf(x / std::numbers::sqrt2)) / 2;
  double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x * (1 + std::tanh(u)) / 2;
}

// a (.., M, K), b (.., K, N) or (K, N) -> (.., M, N)
OnnxArray product(const OnnxArray& a, const OnnxArray& b) {
  int64_t rows = a.dims[a.dims.size() - 2], depth = a.dims.back(), columns = b.dims.back();
  std::vector<int64_t> dims = a.dims;
  dims.back() = columns;
  OnnxArray y = zeros(dims);
  bool shared = b.dims.size() == 2;
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t column = i % columns, row = i / columns, batch = shared ? 0 : row / rows;
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += a.data[static_cast<size_t>(row * depth + k)] *
             b.data[static_cast<size_t>((batch * depth + k) * columns + column)];
    y.data[static_cast<size_t>(i)] = sum;
  }
  return y;
}

// x w^T + b
OnnxArrays gemm(const ParsedNode& node, const Inputs& in) {
  if (node.at("transB").i != 1) throw std::runtime_error("a plain weight");
  const OnnxArray& weight = *in[1];
  OnnxArray turned = zeros({weight.dims[1], weight.dims[0]});
  for (int64_t i = 0; i < weight.size(); ++i)
    turned.data[static_cast<size_t>(i % weight.dims[1] * weight.dims[0] + i / weight.dims[1])] =
        weight.data[static_cast<size_t>(i)];
  OnnxArray y = product(*in[0], turned);
  if (in.size() > 2)
    for (int64_t i = 0; i < y.size(); ++i)
      y.data[static_cast<size_t>(i)] += in[2]->data[static_cast<size_t>(i % weight.dims[0])];
  return {y};
}

OnnxArrays softmax_rows(const ParsedNode& node, const Inputs& in) {
  OnnxArray y = *in[0];
  if (node.at("axis").i != -1) throw std::runtime_error("another axis");
  auto length = static_cast<std::ptrdiff_t>(y.dims.back());
  for (auto row = y.data.begin(); row != y.data.end(); row += length) {
    double most = *std::max_element(row, row + length), sum = 0;
    for (auto x = row; x != row + length; ++x) sum += * x = std::exp(*x - most);
    for (auto x = row; x != row + length; ++x) *x /= sum;
  }
  return {y};
}

OnnxArrays log_softmax_rows(const ParsedNode& node, const Inputs& in) {
  OnnxArrays y = softmax_rows(node, in);
  for (double& value : y[0].data) value = std::log(value);
  return y;
}

// Over the axis that the second input names; it is left out, or has length 1.
OnnxArray sum_over_axis(const ParsedNode& node, const Inputs& in, bool mean) {
  if (in[1]->size() != 1) throw std::runtime_error("another form");
  auto axis = static_cast<int64_t>(in[1]->data[0]);
  AxisSplit split = split_at(*in[0], axis);
  std::vector<int64_t> dims = in[0]->dims;
  dims.at(static_cast<size_t>(axis)) = 1;
  if (node.at("keepdims").i == 0) dims.erase(dims.begin() + axis);
  OnnxArray y = zeros(dims);
  for (int64_t i = 0; i < in[0]->size(); ++i) {
    int64_t at = i / (split.length * split.behind) * split.behind + i % split.behind;
    double term = in[0]->data[static_cast<size_t>(i)];
    y.data[static_cast<size_t>(at)] += mean ? term / static_cast<double>(split.length) : term;
  }
  return y;
}

OnnxArrays layer_normalization(const ParsedNode& node, const Inputs& in) {
  OnnxArray y = *in[0];
  if (node.at("axis").i != -1) throw std::runtime_error("another axis");
  int64_t length = y.dims.back();
  auto count = static_cast<double>(length);
  for (auto row = y.data.begin(); row != y.data.end(); row += length) {
    double mean = 0, variance = 0;
    for (auto x = row; x != row + length; ++x) mean += *x / count;
    for (auto x = row; x != row + length; ++x) variance += (*x - mean) * (*x - mean) / count;
    double scale = 1 / std::sqrt(variance + double{node.at("epsilon").f});
    for (int64_t c = 0; c < length; ++c)
      row[c] = (row[c] - mean) * scale * in[1]->data[static_cast<size_t>(c)] +
               in[2]->data[static_cast<size_t>(c)];
  }
  return {y};
}

using Doubles = std::vector<double>;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// matrix (1, rows, columns) times a vector, and the biases of `rows` rows from `first` on.
Doubles gates_of_step(const OnnxArray& matrix, const double* vector, const OnnxArray& biases,
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
      Doubles wx = gates_of_step(w, x.data.data() + row * features, b, 0);
      Doubles rh = gates_of_step(r, h.data(), b, w.dims[1]);
      for (size_t u = 0; u < units; ++u) {
        states[u] = unit(wx, rh, u, units, states[u]);
        y.data[static_cast<size_t>(row) * units + u] = states[u].h;
      }
    }
  }
  return {y};
}

}  // namespace

OnnxFormulas matrix_formulas() {
  using Node = ParsedNode;
  using Values = std::vector<double>;
  return {
      {"MatMul",
       [](const Node&, const Inputs& in) -> OnnxArrays { return {product(*in[0], *in[1])}; }},
      {"Gemm", gemm},
      {"Softmax", softmax_rows},
      {"LogSoftmax", log_softmax_rows},
      {"ReduceSum",
       [](const Node& node, const Inputs& in) -> OnnxArrays {
         return {sum_over_axis(node, in, false)};
       }},
      {"ReduceMean",
       [](const Node& node, const Inputs& in) -> OnnxArrays {
         return {sum_over_axis(node, in, true)};
       }},
      {"LayerNormalization", layer_normalization},
      {"Add", elementwise([](const Node&, const Values& x) { return x[0] + x[1]; })},
      {"Mul", elementwise([](const Node&, const Values& x) { return x[0] * x[1]; })},
      {"Sub", elementwise([](const Node&, const Values& x) { return x[0] - x[1]; })},
      {"Div", elementwise([](const Node&, const Values& x) { return x[0] / x[1]; })},
      {"Exp", elementwise([](const Node&, const Values& x) { return std::exp(x[0]); })},
      {"Log", elementwise([](const Node&, const Values& x) { return std::log(x[0]); })},
      {"Sqrt", elementwise([](const Node&, const Values& x) { return std::sqrt(x[0]); })},
      {"Abs", elementwise([](const Node&, const Values& x) { return std::abs(x[0]); })},
      {"Pow", elementwise([](const Node&, const Values& x) { return std::pow(x[0], x[1]); })},
      {"LessOrEqual",
       elementwise([](const Node&, const Values& x) { return x[0] <= x[1] ? 1. : 0.; })},
      {"Where", elementwise([](const Node&, const Values& x) { return x[0] != 0 ? x[1] : x[2]; })},
      {"Relu", elementwise([](const Node&, const Values& x) { return std::max(x[0], 0.0); })},
      {"LeakyRelu", elementwise([](const Node& node, const Values& x) {
         return x[0] < 0 ? double{node.at("alpha").f} * x[0] : x[0];
       })},
      {"Sigmoid",
       elementwise([](const Node&, const Values& x) { return 1 / (1 + std::exp(-x[0])); })},
      {"Tanh", elementwise([](const Node&, const Values& x) { return std::tanh(x[0]); })},
      {"Erf", elementwise([](const Node&, const Values& x) { return std::erf(x[0]); })},
      {"Gelu", elementwise([](const Node& node, const Values& x) { return gelu(node, x[0]); })},
  };
}

OnnxFormulas recurrent_formulas() {
  return {{"LSTM",
           [](const ParsedNode& node, const Inputs& in) { return recurrent(node, in, lstm_unit); }},
          {"GRU", [](const ParsedNode& node, const Inputs& in) {
             if (node.at("linear_before_reset").i != 1) throw std::runtime_error("another form");
             return recurrent(node, in, gru_unit);
           }}};
}

}  // namespace spire
