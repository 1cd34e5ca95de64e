// Spire's own names with the words of a PyTorch state dict, and features in PyTorch's order.
#include "engine/weights/names/axis_order.h"
#include "engine/weights/names/known_names.h"

namespace spire::inline weights {

std::string_view state_dict_word(std::string_view word) {
  if (word == "gamma") return "weight";
  return word == "beta" ? "bias" : word;
}

NameTable pytorch_names(const Graph& graph) {
  NameTable table{
      .names = WeightNames::pytorch, .parameters = {}, .without_use = {"*num_batches_tracked"}};
  auto orders = feature_orders(graph);
  for (const OwnTensor& own : own_tensors(graph)) {
    size_t word = own.name.rfind('.') + 1;
    std::string name =
        own.name.substr(0, word).append(state_dict_word(std::string_view(own.name).substr(word)));
    table.parameters.push_back(
        {own.name, own.shape, {channels_first(name, own.shape, orders[own.name])}});
  }
  return table;
}

}  // namespace spire::inline weights
