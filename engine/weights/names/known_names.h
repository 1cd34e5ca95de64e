// The tables of each kind of names, and what they are made from.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/weights/names/name_table.h"

namespace spire {

// Returns the parameters and running statistics of a model.
std::vector<TensorEntry> own_tensors(const Graph& graph);

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

// axis_order.cpp: features that are the pixels of an image in the order (H, W, C). Programs with
// images (C, H, W) number the same features in another order. PixelExtents: size of such an image.
struct PixelExtents {
  int64_t h = 1, w = 1, c = 1;
  bool operator==(const PixelExtents&) const = default;
};

// Axes of a parameter that are such features. rows: its first axis (or its only one), columns: the
// second of two axes. nullopt: no such axis, or an image of one pixel or one channel, whose order
// is the same.
struct FeatureOrder {
  std::optional<PixelExtents> rows, columns;
};

// Returns the parameters and statistics with such axes: of dense layers behind flatten() or in
// front of a reshape to an image, and of biases and normalization between them. graph: for
// evaluation, before any pass. Throws Error(config) where images become features in another way.
std::map<std::string, FeatureOrder> feature_orders(const Graph& graph);

// Returns the part of a parameter that a file has as one tensor of the same shape, with features in
// the order C, H, W.
TensorPart channels_first(const std::string& name, const Shape& shape, const FeatureOrder& order);

// model_facts.cpp: what a file of weights, or a config.json beside it, says of the computation,
// which no tensor shows: the number of heads, epsilons, activations.

// Compares all but the names of own_metadata() with the model's and returns true; false if the
// metadata does not have them. Throws Error(checkpoint) for a difference. path: for messages.
bool check_metadata(const std::map<std::string, std::string>& metadata, const std::string& path,
                    const Graph& graph);

// Compares the config.json of Hugging Face's GPT-2, ViT or Llama with the model's graph. Missing
// keys mean transformers' defaults. text: its content; path: for messages. Throws Error(checkpoint)
// with the first key by which the two compute something else, and what to set.
void check_foreign_config(const std::string& text, const std::string& path, const Graph& graph);

}  // namespace spire
