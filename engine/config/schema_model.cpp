// What is trained: the model and its loss.
#include <spire/config/schema_parts.h>

namespace spire::schema_parts {

std::vector<Field> model_fields() {
  const Use with_dense = {"model.name", {"mlp", "cnn", "autoencoder"}};
  const Use with_channels = {"model.name", {"cnn", "unet", "autoencoder"}};
  const Use with_convolutions = {"model.name", {"cnn", "vgg", "unet", "autoencoder"}};
  const Use with_resnet = {"model.name", {"resnet"}};
  const Use with_images = {"model.name", {"unet", "autoencoder"}};
  const Use with_blocks = {"model.name", {"gpt", "vit"}};
  const Use with_dropout = {"model.name", {"mlp", "cnn", "vgg", "gpt", "vit"}};
  return {
      {.path = "model.name",
       .slot = [](C& c) -> Slot { return &c.model.name; },
       .help = "which model is trained; auto: cnn for images, mlp for features, gpt for tokens",
       .choices = {"auto", "linear", "mlp", "lenet", "cnn", "resnet", "vgg", "unet", "autoencoder",
                   "gpt", "vit", "layers"}},
      {.path = "model.hidden",
       .slot = [](C& c) -> Slot { return &c.model.hidden; },
       .help = "mlp, cnn: widths of the dense layers; []: the model's own; autoencoder: of those "
               "that make its code; []: none",
       .range = at_least(1, kSizes),
       .used_by = with_dense},
      {.path = "model.channels",
       .slot = [](C& c) -> Slot { return &c.model.channels; },
       .help = "channels of the convolutions; []: the model's own",
       .range = at_least(1, kSizes),
       .used_by = with_channels},
      {.path = "model.depth",
       .slot = [](C& c) -> Slot { return &c.model.depth; },
       .help = "layers; resnet: 6n+2 (8, 14, 20, 32, ...), imagenet 18, 34, 50, 101; vgg: 11, 13, "
               "16, 19",
       .range = at_least(8, 1202),
       .used_by = {"model.name", {"resnet", "vgg"}}},
      {.path = "model.variant",
       .slot = [](C& c) -> Slot { return &c.model.variant; },
       .help = "for small images or for those of ImageNet's size",
       .choices = {"cifar", "imagenet"},
       .used_by = with_resnet},
      {.path = "model.shortcut",
       .slot = [](C& c) -> Slot { return &c.model.shortcut; },
       .help = "where a block changes the shape, a 1x1 convolution or padding with zeros",
       .choices = {"projection", "identity"},
       .used_by = with_resnet},
      {.path = "model.dropout",
       .slot = [](C& c) -> Slot { return &c.model.dropout; },
       .help = "share of activations dropped: mlp, cnn, vgg: before the last dense layers; gpt, "
               "vit: in their blocks and behind the embedding",
       .range = kFraction,
       .used_by = with_dropout},
      {.path = "model.normalization",
       .slot = [](C& c) -> Slot { return &c.model.normalization; },
       .help = "what follows each convolution, before its relu",
       .choices = {"none", "batch_norm"},
       .used_by = with_convolutions},
      {.path = "model.upsample",
       .slot = [](C& c) -> Slot { return &c.model.upsample; },
       .help = "how images grow, by transposed convolutions or by resizing and convolutions",
       .choices = {"conv_transpose", "resize"},
       .used_by = with_images},
      {.path = "model.output_activation",
       .slot = [](C& c) -> Slot { return &c.model.output_activation; },
       .help = "what makes the pixels; sigmoid: between 0 and 1",
       .choices = {"linear", "sigmoid"},
       .used_by = with_images},
      {.path = "model.size",
       .slot = [](C& c) -> Slot { return &c.model.size; },
       .help = "blocks, width and heads of a published model; auto: gpt2, tiny",
       .choices = {"auto", "gpt2", "gpt2_medium", "gpt2_large", "gpt2_xl", "tiny", "small", "base"},
       .used_by = with_blocks},
      {.path = "model.blocks",
       .slot = [](C& c) -> Slot { return &c.model.blocks; },
       .help = "transformer blocks",
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
       .help = "parts of the width that attend apart from each other",
       .range = at_least(1, 1024),
       .unset = "those of model.size",
       .used_by = with_blocks},
      {.path = "model.context",
       .slot = [](C& c) -> Slot { return &c.model.context; },
       .help = "positions that it knows; the data's rows may be shorter, not longer",
       .range = at_least(1, 1 << 20),
       .unit = "tokens",
       .unset = "the length of the data's rows",
       .used_by = {"model.name", {"gpt"}}},
      {.path = "model.patch",
       .slot = [](C& c) -> Slot { return &c.model.patch; },
       .help = "side of the squares that an image is cut into",
       .range = at_least(1, 1024),
       .unit = "pixels",
       .used_by = {"model.name", {"vit"}}},
      {.path = "model.layers",
       .slot = [](C& c) -> Slot { return &c.model.layers; },
       .help = "layers: what the model is made of, in place of a model's name"},
  };
}

std::vector<Field> loss_fields() {
  return {
      {.path = "loss.name",
       .slot = [](C& c) -> Slot { return &c.loss.name; },
       .help = "what is minimised; auto: cross_entropy for classes and tokens, mse for values, "
               "l1_l2 for images",
       .choices = {"auto", "cross_entropy", "mse", "l1", "l1_l2"}},
      {.path = "loss.label_smoothing",
       .slot = [](C& c) -> Slot { return &c.loss.label_smoothing; },
       .help = "probability spread evenly over all classes",
       .range = kFraction,
       .used_by = {"loss.name", {"auto", "cross_entropy"}}},
  };
}

}  // namespace spire::schema_parts
