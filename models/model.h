// Builds the graph of the model that a config names, or of a program's own model.
#pragma once
#include <string>
#include <vector>

#include <spire/dataset.h>
#include <spire/model.h>
#include <spire/run_config.h>

#include "engine/graph/graph.h"

namespace spire {

// The task of a model, from which its loss and metric follow.
enum class Task : uint8_t {
  classify,        // images, features (by model.layers also tokens) -> logits against "labels"
  regress,         // images, features (by model.layers also tokens) -> numbers against "values"
  predict_tokens,  // tokens -> logits of each next token, against "targets"
  reconstruct,     // images -> images against "target_images", or else the input images
  segment,         // images -> logits of each pixel against "masks"
  custom,          // the loss of a program's own model
};

// Finds the task by the data's columns. Throws Error(config) if they do not fit the model.
Task task_of(const ModelConfig& model, const std::vector<Column>& columns);

// Returns model.name. If that is auto: "layers" where model.layers is set, "unet" for data with
// target_images or masks, else by the first column: gpt for tokens, mlp for features, cnn for
// images.
std::string model_for(const ModelConfig& model, const std::vector<Column>& columns);

// Returns true if the config names a model whose output is always an image; false for auto.
bool makes_images(const ModelConfig& model);

struct Teacher;  // teacher.h

struct ModelInput {
  std::vector<Column> columns;  // the graph's inputs, in this order; the model reads the first
  int64_t classes = 0;          // number of classes; for tokens: size of the vocabulary
  int64_t batch = 1;            // number of samples
  DType dtype = DType::f32;     // dtype of activations
  std::vector<TableColumn> table = {};  // as in SampleSpec
  Normalization target_scale = {};      // as in SampleSpec
  const Teacher* teacher = nullptr;     // the model learns from it; null: from the data alone
};

// Builds the graph of one tower (a share of the global batch). It has an input (N, dimensions of a
// row) per column, and the outputs "output" (logits, values or images), "loss" and "score". Both
// are fp64 sums over samples; measure() computes the metric from the score. Throws Error(config),
// also what teach() throws.
Graph build_model(const ModelConfig& model, const LossConfig& loss, const ModelInput& input,
                  bool training);

// The same as task_of() and build_model() for a program's own model. Throw Error(config) if it has
// no loss of its own and no loss of Spire's fits the data.
Task own_task(const Model& model, const std::vector<Column>& columns);
Graph build_own_model(const Model& model, const LossConfig& loss, const ModelInput& input,
                      bool training);

// Returns the columns without "positions": those of a model that reads one text per row, as in
// predictions.
std::vector<Column> unpacked_columns(std::vector<Column> columns);

// Returns the graph's input "positions" (N, T), which data with packed documents has; else no
// value.
Value packed_positions(const Graph& graph);

std::vector<std::string> model_names();

// Images (N, H, W, C) or features (N, F) -> logits (N, classes).
Value linear(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value mlp(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value lenet(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value cnn(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value vgg(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value resnet(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value vit(Graph& graph, Value images, const ModelConfig& config, int64_t classes);

// Images (N, H, W, C) -> images or logits of pixels (N, H, W, channels).
Value unet(Graph& graph, Value images, const ModelConfig& config, int64_t channels);
Value autoencoder(Graph& graph, Value images, const ModelConfig& config, int64_t channels);

// Tokens (N, T) i32 -> logits of each token's successor (N, T, vocabulary).
Value gpt(Graph& graph, Value tokens, const ModelConfig& config, int64_t vocabulary);
Value llama(Graph& graph, Value tokens, const ModelConfig& config, int64_t vocabulary);

// layers_model(): the layers that config.layers lists, any of the inputs above -> any of the
// outputs above. layers_make_images(): whether they give images for samples of this shape.
Value layers_model(Graph& graph, Value input, const ModelConfig& config, int64_t classes);
bool layers_make_images(const std::vector<LayerConfig>& layers, const Shape& sample);

}  // namespace spire
