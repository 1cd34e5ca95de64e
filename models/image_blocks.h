// What the models that make images share. Private to this folder.
#pragma once
#include <string>

#include <spire/run_config.h>

#include "engine/graph/layers.h"

namespace spire::inline models {

// 3x3 convolution, batch norm if model.normalization asks for it, relu. Weights are normal over the
// fan-in (He et al. 2015). (N, H, W, C) -> (N, ceil(H / stride), ceil(W / stride), channels).
Value conv_block(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t stride,
                 const ModelConfig& config);

// About twice the size, by model.upsample: a transposed convolution of this kernel and stride 2, or
// nearest neighbours and a 3x3 convolution, which leaves no chequered pattern (Odena et al.,
// "Deconvolution and Checkerboard Artifacts", 2016). No activation behind. kernel 2 makes extents
// 2h and 2h + 1 of h, kernel 3 makes 2h - 1 and 2h.
Value upsample(Graph& graph, const std::string& name, Value x, int64_t channels, Extent2d size,
               int64_t kernel, const ModelConfig& config);

// Batch norm if asked for, and relu.
Value normalized_relu(Graph& graph, const std::string& name, Value x, const ModelConfig& config);

// The pixels of the result: a convolution and model.output_activation.
Value image_head(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t kernel,
                 const ModelConfig& config);

}  // namespace spire::inline models
