// Keys of the model, of its first weights, of its loss, and of a teacher.
#include <algorithm>

#include "engine/base/fail.h"
#include "engine/config/schema_parts.h"
#include "engine/config/transformer_sizes.h"

namespace spire::schema_parts {

namespace {

// Words of model.size, of all families.
std::vector<std::string> size_names() {
  std::vector<std::string> names = {"auto"};
  for (const TransformerFamily& family : transformer_families)
    for (const NamedSize& each : family.sizes) names.emplace_back(each.name);
  return names;
}

std::vector<Field> network_fields() {
  // Models that share keys.
  const Use with_dense = {"model.name", {"mlp", "cnn", "autoencoder"}};
  const Use with_channels = {"model.name", {"cnn", "unet", "autoencoder"}};
  const Use with_convolutions = {"model.name", {"cnn", "vgg", "unet", "autoencoder"}};
  const Use with_resnet = {"model.name", {"resnet"}};
  const Use with_images = {"model.name", {"unet", "autoencoder"}};
  const Use with_dropout = {"model.name", {"mlp", "cnn", "vgg", "gpt", "vit", "llama"}};
  return {
      {KEY(model.name,
           "which model to train; auto: cnn for images, unet for images with images or masks as "
           "targets, mlp for features, gpt for tokens"),
       .choices = {"auto", "linear", "mlp", "lenet", "cnn", "resnet", "vgg", "unet", "autoencoder",
                   "gpt", "vit", "llama", "layers"}},
      {KEY(model.hidden,
           "mlp, cnn: widths of the dense layers; []: the model's default; autoencoder: of the "
           "dense layers around its code; []: none"),
       .range = at_least(1, max_size), .used_by = with_dense},
      {KEY(model.channels, "channels of the convolutions; []: the model's default"),
       .range = at_least(1, max_size), .used_by = with_channels},
      // Resnet (He et al., 2016) and VGG (Simonyan and Zisserman, 2015) come in some depths
      // only: check.cpp lists them.
      {KEY(model.depth,
           "number of layers; resnet: 6n+2 (8, 14, 20, 32, ...), imagenet 18, 34, 50, 101, 152; "
           "vgg: 11, 13, 16, 19"),
       .range = at_least(8, 1202), .used_by = {"model.name", {"resnet", "vgg"}}},
      {KEY(model.variant, "cifar: for small images; imagenet: for large ones"),
       .used_by = with_resnet},
      {KEY(model.shortcut,
           "how a shortcut changes shape: projection (1x1 convolution), or identity (padding with "
           "zeros)"),
       .used_by = with_resnet},
      {KEY(model.dropout,
           "dropout probability: mlp, cnn, vgg: before the last dense layers; gpt, vit, llama: in "
           "their blocks and after the embedding"),
       .range = fraction_range, .used_by = with_dropout},
      {KEY(model.normalization, "what follows each convolution, before its relu"),
       .used_by = with_convolutions},
      // Models whose output is an image.
      {KEY(model.upsample,
           "how images are enlarged: transposed convolution, or resizing and a convolution"),
       .used_by = with_images},
      {KEY(model.output_activation, "activation of the output; sigmoid: pixels between 0 and 1"),
       .used_by = with_images},
  };
}

// Each key but model.size overrides what that says.
std::vector<Field> transformer_fields() {
  const Use with_blocks = {"model.name", {"gpt", "vit", "llama"}};
  const Use with_llama = {"model.name", {"llama"}};
  return {
      {KEY(model.size,
           "takes blocks, width and heads of a published model; auto: gpt2, tiny, llama_tiny"),
       .choices = size_names(), .used_by = with_blocks},
      {KEY(model.blocks, "number of transformer blocks"), .range = at_least(1, 1000),
       .unset = "those of model.size", .used_by = with_blocks},
      {KEY(model.width, "features of a token, a multiple of model.heads"),
       .range = at_least(1, 65536), .unset = "that of model.size", .used_by = with_blocks},
      {KEY(model.heads, "attention heads"), .range = at_least(1, 1024),
       .unset = "those of model.size", .used_by = with_blocks},
      {KEY(model.context,
           "longest input that the model can take; the data's rows must not be longer"),
       .range = at_least(1, 1 << 20), .unit = "tokens", .unset = "the length of the data's rows",
       .used_by = {"model.name", {"gpt", "llama"}}},
      {KEY(model.patch, "side of the square patches that an image is cut into"),
       .range = at_least(1, 1024), .unit = "pixels", .used_by = {"model.name", {"vit"}}},
      {KEY(model.epsilon,
           "added to the variance in norms; 0: 1e-5 in a gpt or llama, 1e-6 in a vit"),
       .range = at_least(0, 1), .used_by = with_blocks},
      {KEY(model.kv_heads, "heads of keys and values, each for as many heads of queries in a row"),
       .range = at_least(1, 1024),
       .unset = "those of model.size; with model.heads: as many as these", .used_by = with_llama},
      {KEY(model.mlp_width, "width of the layer of gated values in a block"),
       .range = at_least(1, 1 << 20),
       .unset = "that of model.size; with model.width: 8/3 of it, in steps of 32",
       .used_by = with_llama},
      {KEY(model.rope_theta,
           "base of the angles of rotary positions, larger than 1; 0: that of model.size"),
       .range = at_least(0, 1e12), .used_by = with_llama},
      {KEY(model.tied_head, "whether the head shares the weights of the table of tokens"),
       .used_by = with_llama},
      // engine/config/layer_types.cpp is the table of layers.
      {KEY(model.layers, "layers: the layers that the model consists of, in order")},
  };
}

// auto is neither focal nor huber, whatever the data is.
std::vector<Field> named_loss_fields() {
  return {
      {KEY(loss.name,
           "loss to minimize; auto: cross_entropy for classes and tokens, mse for values, l1_l2 "
           "for images; binary: values are labels, 0 or 1, of which a sample has none or several")},
      {KEY(loss.label_smoothing, "probability spread evenly over all classes"),
       .range = fraction_range, .used_by = {"loss.name", {"auto", "cross_entropy", "focal"}}},
      {KEY(loss.z_loss,
           "weight of the squared logarithm of softmax's denominator, in training: 1e-4 keeps "
           "logits of large models near 0"),
       .range = at_least(0, 1), .used_by = {"loss.name", {"auto", "cross_entropy", "focal"}}},
      {KEY(loss.class_weights, "factors of the losses of samples, one for each class; []: all 1"),
       .range = at_least(0, 1e6), .used_by = {"loss.name", {"auto", "cross_entropy", "focal"}}},
      {KEY(loss.focal_gamma, "focal: a loss counts (1 - probability of the label) to this power"),
       .range = at_least(0, 100),
       .used_by = {"loss.name",
                   {"focal"},
                   [](const RunConfig& c) { return c.loss.name == LossConfig::Name::focal; }}},
      {KEY(loss.huber_delta, "huber: errors up to this count squared, larger ones by their size"),
       .range = above(0),
       .used_by = {"loss.name",
                   {"huber"},
                   [](const RunConfig& c) { return c.loss.name == LossConfig::Name::huber; }}},
  };
}

void check_entries(const std::vector<std::string>& map) {
  for (const std::string& entry : map)
    if (entry.find(':') == entry.npos || entry.starts_with(':'))
      fail(Category::config,
           "'{}' does not say what becomes of a name; write {{their name: the name here}}", entry);
}

// docs/weights.md has names and layouts. A resumed run takes its weights from its
// checkpoint, so that these keys no longer shape its result.
std::vector<Field> init_fields() {
  return {
      {KEY(init.from,
           "weights that a new run starts from, at step 0 with a new optimizer: a run's directory, "
           "a checkpoint, safetensors (a file, its index, or their folder), or none"),
       .is_path = true, .shapes_result = false},
      {KEY(init.names,
           "whose names and layouts the file has; auto: those under which most is found"),
       .shapes_result = false},
      {KEY(init.map,
           "renames tensors of the file: {linear.weight: head.weight}, prefixes {\"module.\": "
           "\"\"}, or patterns with one star {\"enc.*.w\": \"dec.*.w\"}"),
       .settle = [](C& c) { check_entries(c.init.map); }, .maps = true, .shapes_result = false},
      {KEY(init.skip,
           "patterns, as head.*: parameters that start as in any new run, and tensors of the file "
           "that are left out"),
       .shapes_result = false},
      {KEY(init.strict,
           "true: every parameter must be in the file with its shape, and every tensor of the file "
           "in the model; false: those that are not start as in any new run"),
       .shapes_result = false},
  };
}

void check_hash(const std::string& hash) {
  bool digits = hash.size() == 16 && std::ranges::all_of(hash, [](char c) {
                  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                });
  if (hash != "auto" && !digits)
    fail(Category::config,
         "'{}' is no hash of 16 hex digits; use auto, or what the start of a run "
         "prints for the teacher",
         hash);
}

std::vector<Field> distill_fields() {
  const Use with_teacher = {"distill.from", {"a run or checkpoint"}, [](const RunConfig& config) {
                              return config.distill.from != "none";
                            }};
  return {
      // A teacher may be moved: distill.hash tells whether it is another one.
      {KEY(distill.from,
           "teacher from whose outputs the model learns besides the labels: a run's directory, of "
           "which it is the best checkpoint, a checkpoint, or none"),
       .is_path = true, .shapes_result = false},
      {KEY(distill.temperature,
           "number by which the logits of teacher and model are divided before they are compared"),
       .range = {.low = 0, .high = 1000, .low_open = true}, .used_by = with_teacher},
      {KEY(distill.weight, "share of the teacher in the loss; the labels have the rest"),
       .range = at_least(0, 1), .used_by = with_teacher},
      {KEY(distill.hash,
           "hash that the teacher's weights must have, as the start of a run prints it; auto: any, "
           "and a resumed run needs that of its checkpoint"),
       .settle = [](C& c) { check_hash(c.distill.hash); }, .used_by = with_teacher},
  };
}

}  // namespace

std::vector<Field> model_fields() {
  return join({network_fields(), transformer_fields(), init_fields()});
}

std::vector<Field> loss_fields() {
  return join({named_loss_fields(), distill_fields()});
}

}  // namespace spire::schema_parts
