// Building blocks of the convolutional models that make images. Private to this folder.
#pragma once
#include <string>

#include <spire/run_config.h>

#include "engine/graph/layers.h"

namespace spire::inline models {

// 3x3 convolution, batch norm if model.normalization asks for it, relu. Weights are normal over the
// fan-in (He et al. 2015). (N, H, W, C) -> (N, ceil(H / stride), ceil(W / stride), channels).
Value conv_block(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t stride,
                 const ModelConfig& config);

// Enlarges x by model.upsample to `size`, about twice: a transposed convolution of this kernel and
// stride 2, or nearest neighbours and a 3x3 convolution, which leaves no checkerboard pattern
// (Odena et al., "Deconvolution and Checkerboard Artifacts", 2016). No activation follows. kernel 2
// turns an extent h into 2h or 2h + 1, kernel 3 into 2h - 1 or 2h.
Value upsample(Graph& graph, const std::string& name, Value x, int64_t channels, Extent2d size,
               int64_t kernel, const ModelConfig& config);

// Batch norm if model.normalization asks for it, then relu.
Value normalized_relu(Graph& graph, const std::string& name, Value x, const ModelConfig& config);

// Maps x to pixels: a convolution and model.output_activation. (N, H, W, C) -> (N, H, W, channels).
Value image_head(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t kernel,
                 const ModelConfig& config);

}  // namespace spire::inline models
