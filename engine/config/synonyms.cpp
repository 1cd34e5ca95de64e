#include "engine/config/synonyms.h"

#include <algorithm>
#include <cctype>

#include "engine/base/text.h"

namespace spire {

namespace {

using enum SynonymGroup;

constexpr size_t longest = 64;  // longer words are in no table

// "Conv2D_Transpose" -> "conv2dtranspose"
std::string plain(std::string_view word) {
  std::string letters;
  for (char c : word.substr(0, longest))
    if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(c));
  return letters;
}

}  // namespace

const std::vector<Synonym>& synonyms() {
  static const std::vector<Synonym> table = {
      {layers, "linear", "dense"},
      {layers, "fully_connected", "dense"},
      {layers, "fc", "dense"},
      {layers, "conv", "conv2d"},
      {layers, "convolution", "conv2d"},
      {layers, "convolution1d", "conv1d"},
      {layers, "conv2d_transpose", "conv_transpose2d"},
      {layers, "deconvolution", "conv_transpose2d"},
      {layers, "upsample", "resize"},
      {layers, "up_sampling2d", "resize"},
      {layers, "batch_norm1d", "batch_norm"},
      {layers, "batch_norm2d", "batch_norm"},
      {layers, "batch_normalization", "batch_norm"},
      {layers, "layer_normalization", "layer_norm"},
      {layers, "group_normalization", "group_norm"},
      {layers, "instance_norm2d", "group_norm"},
      {layers, "max_pool", "max_pool2d"},
      {layers, "max_pooling2d", "max_pool2d"},
      {layers, "avg_pool", "avg_pool2d"},
      {layers, "average_pooling2d", "avg_pool2d"},
      {layers, "global_average_pooling1d", "global_avg_pool"},
      {layers, "global_average_pooling2d", "global_avg_pool"},
      {layers, "adaptive_avg_pool2d", "global_avg_pool"},
      {layers, "multihead_attention", "attention"},
      {layers, "multi_head_attention", "attention"},
      {layers, "transformer_encoder_layer", "transformer_block"},
      {layers, "positional_embedding", "positions"},
      {layers, "concatenate", "concat"},
      {layers, "cat", "concat"},
      {layers, "view", "reshape"},

      {layer_keys, "filters", "channels"},
      {layer_keys, "out_channels", "channels"},
      {layer_keys, "kernel_size", "kernel"},
      {layer_keys, "pool_size", "kernel"},
      {layer_keys, "strides", "stride"},
      {layer_keys, "dilation_rate", "dilation"},
      {layer_keys, "use_bias", "bias"},
      {layer_keys, "kernel_initializer", "init"},
      {layer_keys, "out_features", "units"},
      {layer_keys, "hidden_size", "units"},
      {layer_keys, "output_dim", "units"},
      {layer_keys, "output_dim", "width"},
      {layer_keys, "embedding_dim", "width"},
      {layer_keys, "num_embeddings", "vocabulary"},
      {layer_keys, "input_dim", "vocabulary"},
      {layer_keys, "num_heads", "heads"},
      {layer_keys, "n_heads", "heads"},
      {layer_keys, "p", "rate"},
      {layer_keys, "eps", "epsilon"},
      {layer_keys, "alpha", "slope"},
      {layer_keys, "negative_slope", "slope"},
      {layer_keys, "approximate", "form"},
      {layer_keys, "scale_factor", "factor"},
      {layer_keys, "size", "factor"},
      {layer_keys, "interpolation", "kind"},
      {layer_keys, "mode", "kind"},
      {layer_keys, "target_shape", "shape"},
      {layer_keys, "num_groups", "groups"},
      {layer_keys, "return_sequences", "output"},
      {layer_keys, "inputs", "from"},

      {keys, "learning_rate", "optimizer.lr"},
      {keys, "betas", "optimizer.beta1"},
      {keys, "eps", "optimizer.epsilon"},
      {keys, "grad_clip", "optimizer.clip_norm"},
      {keys, "gradient_clip_val", "optimizer.clip_norm"},
      {keys, "max_grad_norm", "optimizer.clip_norm"},
      {keys, "clipnorm", "optimizer.clip_norm"},
      {keys, "batch", "batch_size"},
      {keys, "bs", "batch_size"},
      {keys, "train_batch_size", "batch_size"},
      {keys, "per_device_train_batch_size", "batch_size"},
      {keys, "gradient_accumulation_steps", "towers"},
      {keys, "accumulate_grad_batches", "towers"},
      {keys, "grad_accum", "towers"},
      {keys, "num_epochs", "epochs"},
      {keys, "n_epochs", "epochs"},
      {keys, "max_epochs", "epochs"},
      {keys, "num_train_epochs", "epochs"},
      {keys, "max_steps", "steps"},
      {keys, "num_steps", "steps"},
      {keys, "iterations", "steps"},
      {keys, "scheduler", "schedule.name"},
      {keys, "lr_scheduler", "schedule.name"},
      {keys, "warmup", "schedule.warmup_epochs"},
      {keys, "criterion", "loss.name"},
      {keys, "loss_fn", "loss.name"},
      {keys, "dataset", "data.name"},
      {keys, "data_dir", "data.path"},
      {keys, "data_path", "data.path"},
      {keys, "root", "data.path"},
      {keys, "num_workers", "data.workers"},
      {keys, "prefetch_factor", "data.prefetch"},
      {keys, "arch", "model.name"},
      {keys, "architecture", "model.name"},
      {keys, "backbone", "model.name"},
      {keys, "num_layers", "model.depth"},
      {keys, "n_layer", "model.blocks"},
      {keys, "n_head", "model.heads"},
      {keys, "n_embd", "model.width"},
      {keys, "block_size", "model.context"},
      {keys, "pretrained", "init.from"},
      {keys, "random_seed", "seed"},
      {keys, "random_state", "seed"},
      {keys, "device", "devices"},
      {keys, "gpus", "devices"},
      {keys, "accelerator", "devices"},
      {keys, "amp", "precision"},
      {keys, "fp16", "precision"},
      {keys, "bf16", "precision"},
      {keys, "mixed_precision", "precision"},
      {keys, "early_stopping", "early_stop.patience"},
      {keys, "gradient_checkpointing", "memory.recompute"},
      {keys, "output_dir", "output"},
      {keys, "save_dir", "output"},
      {keys, "log_dir", "output"},

      {values, "categorical_crossentropy", "cross_entropy"},
      {values, "sparse_categorical_crossentropy", "cross_entropy"},
      {values, "nll_loss", "cross_entropy"},
      {values, "binary_crossentropy", "binary"},
      {values, "mean_squared_error", "mse"},
      {values, "mean_absolute_error", "l1"},
      {values, "mae", "l1"},
      {values, "smooth_l1", "huber"},
      {values, "float32", "fp32"},
      {values, "float16", "fp16"},
      {values, "half", "fp16"},
      {values, "bfloat16", "bf16"},
      {values, "cosine_annealing_lr", "cosine"},
      {values, "step_lr", "step"},
      {values, "multi_step_lr", "multistep"},
      {values, "ddp", "mirrored"},
      {values, "fsdp", "sharded"},
      {values, "transformer", "gpt"},
  };
  return table;
}

std::string our_word(SynonymGroup group, std::string_view theirs,
                     const std::vector<std::string>& known) {
  std::string word = plain(theirs);
  for (const Synonym& each : synonyms()) {
    if (each.group != group || plain(each.theirs) != word) continue;
    if (std::ranges::count(known, each.ours) > 0) return std::string(each.ours);
  }
  return "";
}

// A known word that is merely written as another program writes it, LeakyReLU, is no typo either.
std::string meant_word(SynonymGroup group, std::string_view word,
                       const std::vector<std::string>& known) {
  if (std::string ours = our_word(group, word, known); !ours.empty()) return ours;
  auto same = std::ranges::find(known, plain(word), plain);
  return same != known.end() ? *same : nearest(word, known);
}

}  // namespace spire
