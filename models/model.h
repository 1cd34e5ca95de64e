// Models by name. One model is one file, written with the layer functions of
// <spire/graph/layers.h>.
#pragma once
#include <string>
#include <vector>

#include <spire/config/run_config.h>
#include <spire/graph/graph.h>

namespace spire {

struct ImageShape {
  int64_t height = 28, width = 28, channels = 1, classes = 10;
};

struct ModelInput {
  ImageShape image;
  int64_t batch = 1;
  DType dtype = DType::f32;  // of images and activations
};

// The graph of one tower: inputs "images" (N, H, W, C) and "labels" (N) int32, the model's logits,
// the loss; outputs "loss", "correct" (fp64 sums) and "logits". Throws Error(config) for an unknown
// model or loss (naming the known ones) and for options that do not fit.
Graph build_model(const ModelConfig& model, const LossConfig& loss, const ModelInput& input,
                  bool training);

std::vector<std::string> model_names();

// Each maps images (N, H, W, C) to logits (N, classes).
Value mlp(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value cnn(Graph& graph, Value images, const ModelConfig& config, int64_t classes);
Value resnet(Graph& graph, Value images, const ModelConfig& config, int64_t classes);

}  // namespace spire
