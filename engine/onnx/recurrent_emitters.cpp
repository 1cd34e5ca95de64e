// LSTM and GRU: the product of the inputs and the steps behind it are one node of ONNX.
#include "engine/onnx/emitters.h"
#include "kernels/ops/recurrent/recurrent.h"

namespace spire {
namespace {

// Spire's gates in ONNX's order: i, o, f, g of an LSTM, and z, r, n of a GRU.
std::vector<size_t> order_of_gates(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? std::vector<size_t>{0, 3, 1, 2}
                                     : std::vector<size_t>{1, 0, 2};
}

// The rows of a parameter (G H, ..), gate by gate in ONNX's order.
std::string ordered(OnnxBuilder& builder, Value parameter, RecurrentCell cell) {
  int64_t gates = gates_of(cell), units = builder.shape(parameter)[0] / gates;
  std::vector<int64_t> lengths(static_cast<size_t>(gates), units);
  auto parts = builder.add_many("Split", {builder.plain(parameter), builder.whole_numbers(lengths)},
                                {{"axis", int64_t{0}}}, lengths.size());
  std::vector<std::string> placed;
  for (size_t gate : order_of_gates(cell)) placed.push_back(parts[gate]);
  return builder.add("Concat", placed, {{"axis", int64_t{0}}});
}

// A matrix for the one direction of a layer.
std::string for_one_direction(OnnxBuilder& builder, Value matrix, RecurrentCell cell) {
  const Shape& shape = builder.shape(matrix);
  return builder.add(
      "Reshape", {ordered(builder, matrix, cell), builder.whole_numbers({1, shape[0], shape[1]})});
}

}  // namespace

bool is_recurrent(const Node& node) {
  return node.op->name() == "lstm" || node.op->name() == "gru";
}

// ONNX's sequences are (T, N, F), its states (T, directions, N, H).
void emit_recurrent(OnnxBuilder& builder, const Node& product, const Node& steps) {
  RecurrentCell cell = static_cast<const RecurrentOp&>(*steps.op).attributes().cell;
  Value y = steps.outputs[0];
  int64_t rows = builder.shape(product.inputs[1])[0], units = builder.shape(y)[2];
  std::string x = builder.by_step(product.inputs[0]);
  std::string biases = builder.add(
      "Concat",
      {ordered(builder, product.inputs[2], cell), ordered(builder, steps.inputs[2], cell)},
      {{"axis", int64_t{0}}});
  std::vector<std::string> inputs = {
      x, for_one_direction(builder, product.inputs[1], cell),
      for_one_direction(builder, steps.inputs[1], cell),
      builder.add("Reshape", {biases, builder.whole_numbers({1, 2 * rows})})};
  std::vector<OnnxAttribute> attributes = {{"hidden_size", units}};
  if (cell == RecurrentCell::gru) attributes.push_back({"linear_before_reset", int64_t{1}});
  std::string states =
      builder.add(cell == RecurrentCell::lstm ? "LSTM" : "GRU", inputs, attributes);
  OnnxDims whole = builder.dims(y), by_step = {whole[1], whole[0], whole[2]};
  OnnxDims made = {whole[1], {1}, whole[0], whole[2]};
  builder.define_by_step(y, builder.add("Reshape", {states, builder.target_shape(by_step, made)}));
}

}  // namespace spire
