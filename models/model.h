// Builds a model's graph by the model's name.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"
#include "engine/graph/graph.h"

namespace spire::inline models {

// The task of a model, from which its loss and metric follow.
enum class Task : uint8_t {
  classify,        // images or features -> logits against "labels"
  regress,         // images or features -> numbers against "values"
  predict_tokens,  // tokens -> logits of each next token, against "targets"
  reconstruct,     // images -> the same images
};

// Finds the task by the columns of the data. Throws Error(config) where they do not fit the model.
Task task_of(const ModelConfig& model, const std::vector<Column>& columns);

// Returns model.name, or for auto the model that suits the first column: cnn, mlp or gpt.
std::string model_for(const ModelConfig& model, const std::vector<Column>& columns);

bool makes_images(const ModelConfig& model);  // by its name alone; false for auto

struct ModelInput {
  std::vector<Column> columns;  // the graph's inputs, in this order; the model reads the first
  int64_t classes = 0;          // of labels; tokens: the vocabulary
  int64_t batch = 1;            // samples
  DType dtype = DType::f32;     // of activations
};

// Builds the graph of one tower: inputs (N, row) for the columns; "output" (logits, values or
// images), "loss" and "score" (fp64 sums over samples, see Metric). Throws Error(config).
Graph build_model(const ModelConfig& model, const LossConfig& loss, const ModelInput& input,
                  bool training);

std::vector<std::string> model_names();

// Images (N, H, W, C) or features (N, F) -> logits (N, classes).
Value linear(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value mlp(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value lenet(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value cnn(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value vgg(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value resnet(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value vit(Graph& graph, Value images, const ModelConfig& config, int64_t classes);

// Images (N, H, W, C) -> images of the same shape; `classes` is ignored.
Value unet(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value autoencoder(Graph& graph, Value images, const ModelConfig& config, int64_t classes);

// Tokens (N, T) i32 -> logits of each token's successor (N, T, vocabulary).
Value gpt(Graph& graph, Value tokens, const ModelConfig& config, int64_t vocabulary);

// config.layers: any of these inputs -> any of these outputs.
Value layers_model(Graph& graph, Value input, const ModelConfig& config, int64_t classes);
bool layers_make_images(const std::vector<LayerConfig>& layers, const Shape& sample);

}  // namespace spire::inline models
