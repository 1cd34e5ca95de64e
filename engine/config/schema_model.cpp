// Keys of the model and its loss. `used_by` names the models that read a key.
#include "engine/config/schema_parts.h"
#include "engine/config/transformer_sizes.h"

namespace spire::inline config::schema_parts {
namespace {

// Words of model.size, of all families.
std::vector<std::string> size_names() {
  std::vector<std::string> names = {"auto"};
  for (const TransformerFamily& family : transformer_families)
    for (const NamedSize& each : family.sizes) names.emplace_back(each.name);
  return names;
}

}  // namespace

std::vector<Field> model_fields() {
  // Models that share keys.
  const Use with_dense = {"model.name", {"mlp", "cnn", "autoencoder"}};
  const Use with_channels = {"model.name", {"cnn", "unet", "autoencoder"}};
  const Use with_convolutions = {"model.name", {"cnn", "vgg", "unet", "autoencoder"}};
  const Use with_resnet = {"model.name", {"resnet"}};
  const Use with_images = {"model.name", {"unet", "autoencoder"}};
  const Use with_blocks = {"model.name", {"gpt", "vit", "llama"}};
  const Use with_llama = {"model.name", {"llama"}};
  const Use with_dropout = {"model.name", {"mlp", "cnn", "vgg", "gpt", "vit", "llama"}};
  return {
      {.path = "model.name",
       .slot = [](C& c) -> Slot { return &c.model.name; },
       .help =
           "which model to train; auto: cnn for images, unet for images with images or masks as "
           "targets, mlp for features, gpt for tokens",
       .choices = {"auto", "linear", "mlp", "lenet", "cnn", "resnet", "vgg", "unet", "autoencoder",
                   "gpt", "vit", "llama", "layers"}},
      {.path = "model.hidden",
       .slot = [](C& c) -> Slot { return &c.model.hidden; },
       .help = "mlp, cnn: widths of the dense layers; []: the model's default; autoencoder: of the "
               "dense layers around its code; []: none",
       .range = at_least(1, max_size),
       .used_by = with_dense},
      {.path = "model.channels",
       .slot = [](C& c) -> Slot { return &c.model.channels; },
       .help = "channels of the convolutions; []: the model's default",
       .range = at_least(1, max_size),
       .used_by = with_channels},
      // Resnet (He et al., 2016) and VGG (Simonyan and Zisserman, 2015) come in some depths
      // only: check.cpp lists them.
      {.path = "model.depth",
       .slot = [](C& c) -> Slot { return &c.model.depth; },
       .help =
           "number of layers; resnet: 6n+2 (8, 14, 20, 32, ...), imagenet 18, 34, 50, 101, 152; "
           "vgg: 11, 13, 16, 19",
       .range = at_least(8, 1202),
       .used_by = {"model.name", {"resnet", "vgg"}}},
      {.path = "model.variant",
       .slot = [](C& c) -> Slot { return &c.model.variant; },
       .help = "cifar: for small images; imagenet: for large ones",
       .used_by = with_resnet},
      {.path = "model.shortcut",
       .slot = [](C& c) -> Slot { return &c.model.shortcut; },
       .help = "how a shortcut changes shape: projection (1x1 convolution), or identity (padding "
               "with zeros)",
       .used_by = with_resnet},
      {.path = "model.dropout",
       .slot = [](C& c) -> Slot { return &c.model.dropout; },
       .help =
           "dropout probability: mlp, cnn, vgg: before the last dense layers; gpt, vit, llama: in "
           "their blocks and after the embedding",
       .range = fraction_range,
       .used_by = with_dropout},
      {.path = "model.normalization",
       .slot = [](C& c) -> Slot { return &c.model.normalization; },
       .help = "what follows each convolution, before its relu",
       .used_by = with_convolutions},
      // Models whose output is an image.
      {.path = "model.upsample",
       .slot = [](C& c) -> Slot { return &c.model.upsample; },
       .help = "how images are enlarged: transposed convolution, or resizing and a convolution",
       .used_by = with_images},
      {.path = "model.output_activation",
       .slot = [](C& c) -> Slot { return &c.model.output_activation; },
       .help = "activation of the output; sigmoid: pixels between 0 and 1",
       .used_by = with_images},
      {.path = "model.size",
       .slot = [](C& c) -> Slot { return &c.model.size; },
       .help = "takes blocks, width and heads of a published model; auto: gpt2, tiny, llama_tiny",
       .choices = size_names(),
       .used_by = with_blocks},
      // Transformers: each key overrides that of model.size.
      {.path = "model.blocks",
       .slot = [](C& c) -> Slot { return &c.model.blocks; },
       .help = "number of transformer blocks",
       .range = at_least(1, 1000),
       .unset = "those of model.size",
       .used_by = with_blocks},
      {.path = "model.width",
       .slot = [](C& c) -> Slot { return &c.model.width; },
       .help = "features of a token, a multiple of model.heads",
       .range = at_least(1, 65536),
       .unset = "that of model.size",
       .used_by = with_blocks},
      {.path = "model.heads",
       .slot = [](C& c) -> Slot { return &c.model.heads; },
       .help = "attention heads",
       .range = at_least(1, 1024),
       .unset = "those of model.size",
       .used_by = with_blocks},
      {.path = "model.context",
       .slot = [](C& c) -> Slot { return &c.model.context; },
       .help = "longest input that the model can take; the data's rows must not be longer",
       .range = at_least(1, 1 << 20),
       .unit = "tokens",
       .unset = "the length of the data's rows",
       .used_by = {"model.name", {"gpt", "llama"}}},
      {.path = "model.patch",
       .slot = [](C& c) -> Slot { return &c.model.patch; },
       .help = "side of the square patches that an image is cut into",
       .range = at_least(1, 1024),
       .unit = "pixels",
       .used_by = {"model.name", {"vit"}}},
      {.path = "model.epsilon",
       .slot = [](C& c) -> Slot { return &c.model.epsilon; },
       .help = "added to the variance in norms; 0: 1e-5 in a gpt or llama, 1e-6 in a vit",
       .range = at_least(0, 1),
       .used_by = with_blocks},
      {.path = "model.kv_heads",
       .slot = [](C& c) -> Slot { return &c.model.kv_heads; },
       .help = "heads of keys and values, each for as many heads of queries in a row",
       .range = at_least(1, 1024),
       .unset = "those of model.size; with model.heads: as many as these",
       .used_by = with_llama},
      {.path = "model.mlp_width",
       .slot = [](C& c) -> Slot { return &c.model.mlp_width; },
       .help = "width of the layer of gated values in a block",
       .range = at_least(1, 1 << 20),
       .unset = "that of model.size; with model.width: 8/3 of it, in steps of 32",
       .used_by = with_llama},
      {.path = "model.rope_theta",
       .slot = [](C& c) -> Slot { return &c.model.rope_theta; },
       .help = "base of the angles of rotary positions, larger than 1; 0: that of model.size",
       .range = at_least(0, 1e12),
       .used_by = with_llama},
      {.path = "model.tied_head",
       .slot = [](C& c) -> Slot { return &c.model.tied_head; },
       .help = "whether the head shares the weights of the table of tokens",
       .used_by = with_llama},
      // engine/config/layer_types.cpp is the table of layers.
      {.path = "model.layers",
       .slot = [](C& c) -> Slot { return &c.model.layers; },
       .help = "layers: the layers that the model consists of, in order"},
  };
}

// auto is neither focal nor huber, whatever the data is.
std::vector<Field> loss_fields() {
  return {
      {.path = "loss.name",
       .slot = [](C& c) -> Slot { return &c.loss.name; },
       .help = "loss to minimize; auto: cross_entropy for classes and tokens, mse for values, "
               "l1_l2 for images; binary: values are labels, 0 or 1, of which a sample has none "
               "or several"},
      {.path = "loss.label_smoothing",
       .slot = [](C& c) -> Slot { return &c.loss.label_smoothing; },
       .help = "probability spread evenly over all classes",
       .range = fraction_range,
       .used_by = {"loss.name", {"auto", "cross_entropy", "focal"}}},
      {.path = "loss.z_loss",
       .slot = [](C& c) -> Slot { return &c.loss.z_loss; },
       .help = "weight of the squared logarithm of softmax's denominator, in training: 1e-4 keeps "
               "logits of large models near 0",
       .range = at_least(0, 1),
       .used_by = {"loss.name", {"auto", "cross_entropy", "focal"}}},
      {.path = "loss.class_weights",
       .slot = [](C& c) -> Slot { return &c.loss.class_weights; },
       .help = "factors of the losses of samples, one for each class; []: all 1",
       .range = at_least(0, 1e6),
       .used_by = {"loss.name", {"auto", "cross_entropy", "focal"}}},
      {.path = "loss.focal_gamma",
       .slot = [](C& c) -> Slot { return &c.loss.focal_gamma; },
       .help = "focal: a loss counts (1 - probability of the label) to this power",
       .range = at_least(0, 100),
       .used_by = {"loss.name",
                   {"focal"},
                   [](const RunConfig& c) { return c.loss.name == LossConfig::Name::focal; }}},
      {.path = "loss.huber_delta",
       .slot = [](C& c) -> Slot { return &c.loss.huber_delta; },
       .help = "huber: errors up to this count squared, larger ones by their size",
       .range = above(0),
       .used_by = {"loss.name",
                   {"huber"},
                   [](const RunConfig& c) { return c.loss.name == LossConfig::Name::huber; }}},
  };
}

}  // namespace spire::inline config::schema_parts
