// Low-rank adaptation of a model (Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models",
// 2021): a dense layer with weight W (out, in) keeps W and learns a product of two small matrices
// beside it,
//   y = x W^T + bias + alpha / rank (x A^T) B^T
// with the parameters name.lora_a.weight, A (rank, in), uniform in +-1 / sqrt(in) at first, and
// name.lora_b.weight, B (out, rank), 0 at first, so that training begins with the model as it was.
#pragma once
#include <spire/run_config.h>

#include "engine/graph/finetuning.h"
#include "engine/graph/graph.h"

namespace spire {

// Adds the products to the dense layers whose names match lora.patterns (none: to all) in a graph
// from build_model(), before any pass. A layer whose weight is shared with another layer (a tied
// head) is left out. Does nothing for rank 0. Throws Error(config) for a pattern that matches no
// dense layer, and for a model without any.
void adapt_dense_layers(Graph& graph, const LoraConfig& lora);

// Returns what an adapted graph freezes: `freeze` and the weights of the adapted layers, or, if
// `freeze` names nothing, all parameters except the two matrices of each adapted layer. Returns
// `freeze` for rank 0.
FreezeOptions freeze_beside_adapters(const Graph& graph, const LoraConfig& lora,
                                     FreezeOptions freeze);

// Returns alpha / rank, the factor of the products; 0 for rank 0.
double adapter_factor(const LoraConfig& lora);

}  // namespace spire
