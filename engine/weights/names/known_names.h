// The tables of each kind of names. Private to this folder.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/weights/names/name_table.h"

namespace spire::inline weights {

struct OwnTensor {  // a parameter or running statistic of a model
  std::string name;
  Shape shape;
};
std::vector<OwnTensor> own_tensors(const Graph& graph);

// Each throws as name_table().
NameTable spire_names(const Graph& graph);
NameTable pytorch_names(const Graph& graph);
NameTable torchvision_names(const ModelConfig& model, const Graph& graph);
NameTable huggingface_names(const ModelConfig& model, const Graph& graph);

// "weight" for gamma, "bias" for beta; other words stay.
std::string_view state_dict_word(std::string_view word);

// What the graph of a transformer computes.
struct TransformerFacts {
  int64_t heads = 0, kv_heads = 0, blocks = 0;
  float epsilon = 0;      // of all norms
  double rope_theta = 0;  // 0: no rotary positions
  bool gelu_tanh = false, swiglu = false;
};
TransformerFacts transformer_facts(const Graph& graph);

}  // namespace spire::inline weights
