// Names and layouts that a model's weights have in files of other programs: one table for reading
// and for writing (docs/weights.md).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spire/run_config.h>
#include <spire/tensor.h>

#include "engine/checkpoint/training_state.h"
#include "engine/graph/graph.h"
#include "engine/weights/files/weight_writers.h"

namespace spire {

// A tensor of a file, and the elements of a parameter that it holds.
struct TensorPart {
  std::string name;  // in the file
  Shape shape;       // in the file
  // Its elements are those of the parameter (row-major) from `begin` on, in another order if `axes`
  // is not empty: seen as a tensor of shape `view`, permute(axes) (PyTorch's) brings them into the
  // parameter's order.
  int64_t begin = 0;
  Shape view = {};
  std::vector<int> axes = {};

  int64_t elements() const { return shape.elements(); }
};

struct NamedParameter {
  std::string name;  // Spire's
  Shape shape;
  std::vector<TensorPart> parts;  // cover it in order
};

struct NameTable {
  WeightNames names;                       // never automatic
  std::vector<NamedParameter> parameters;  // all weights and running statistics of the model
  // Patterns of tensors of such files that compute nothing: counters, masks.
  std::vector<std::string> without_use = {};
  std::string prefix = {};  // of names; files of the model without its head lack it: "transformer."
  // Pairs of names: if a file has the first tensor, it must equal the second one (a tied head).
  std::vector<std::pair<std::string, std::string>> copies = {};
};

// graph: of the model, from build_model(), before any pass. Throws Error(config) where the model
// has no counterpart under these names, or one that computes something else; automatic means
// usual_names().
NameTable name_table(WeightNames names, const ModelConfig& model, const Graph& graph);

// The names that most programs expect: torchvision's for an ImageNet ResNet with shortcuts by
// projection, Hugging Face's for gpt, llama and vit, else pytorch.
WeightNames usual_names(const ModelConfig& model);

// Copy between a part's tensor as it is in a file and the parameter's elements from part.begin on.
void to_parameter(const TensorPart& part, std::span<const float> file, std::span<float> parameter);
void to_file(const TensorPart& part, std::span<const float> parameter, std::span<float> file);

// The weights and running statistics of a checkpoint or trainer, named and laid out by the table,
// in its order. averaged: the averaged weights, if there are any, as evaluations use them. `state`
// outlives the result, which keeps a transposed tensor in memory while its parts are read. Throws
// Error(checkpoint) if the state lacks a parameter or has it in another shape.
std::vector<TensorToWrite> tensors_to_write(const NameTable& table, const SavedTensors& state,
                                            bool averaged = true);

// A config.json with which Hugging Face's AutoModel classes compute what the model computes; empty
// for names that have none. graph: as above, of fp32. end_token: of the vocabulary, if it has one.
std::string foreign_config(const NameTable& table, const ModelConfig& model, const Graph& graph,
                           std::optional<int64_t> end_token = std::nullopt);

// What Spire's safetensors say of themselves in __metadata__: {"spire.names": "pytorch"}, and for
// models with attention "spire.heads" and "spire.epsilon" (of the norms), "spire.kv_heads" where
// these are fewer, "spire.rope_theta" where positions are rotary. graph: as above.
std::map<std::string, std::string> own_metadata(const NameTable& table, const Graph& graph);

// Returns whose names a file with this metadata has; nullopt for files of other programs.
std::optional<WeightNames> written_names(const std::map<std::string, std::string>& metadata);

// Returns the facts, as text, in which two models with attention differ.
struct AttentionFact {
  std::string key, first, second;  // "model.heads", "2", "8"
};
std::vector<AttentionFact> other_attention(const Graph& first, const Graph& second);

}  // namespace spire
