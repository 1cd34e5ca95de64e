// How training images differ from the stored ones.
#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

std::vector<Field> augment_fields() {
  const Use with_stored_images = stored_images();
  const Use with_folder = {"data.name", {"image_folder"}};
  return {
      {.path = "data.augment.crop",
       .slot = [](C& c) -> Slot { return &c.data.augment.crop; },
       .help = "pixels of zero padding on each side before a random crop of the original size",
       .range = at_least(0, 1024),
       .unit = "pixels",
       .used_by = with_stored_images},
      {.path = "data.augment.flip",
       .slot = [](C& c) -> Slot { return &c.data.augment.flip; },
       .help = "mirror half of the samples, chosen at random",
       .used_by = with_stored_images},
      {.path = "data.augment.random_resized_crop",
       .slot = [](C& c) -> Slot { return &c.data.augment.random_resized_crop; },
       .help = "train on a random part of each image, resized to data.image.size",
       .used_by = with_folder},
      {.path = "data.augment.min_scale",
       .slot = [](C& c) -> Slot { return &c.data.augment.min_scale; },
       .help = "random_resized_crop: smallest share of the image's area that is taken",
       .range = {.low = 0, .high = 1, .low_open = true},
       .used_by = with_folder},
      {.path = "data.augment.mixup",
       .slot = [](C& c) -> Slot { return &c.data.augment.mixup; },
       .help = "alpha of Beta(alpha, alpha), from which the share is drawn by which two samples "
               "are blended; 0: off",
       .range = at_least(0, 1000),
       .used_by = with_stored_images},
      {.path = "data.augment.cutmix",
       .slot = [](C& c) -> Slot { return &c.data.augment.cutmix; },
       .help = "alpha of Beta(alpha, alpha), from which the area is drawn of the box that is "
               "pasted from another image; 0: off; with mixup: each for half of the pairs",
       .range = at_least(0, 1000),
       .used_by = with_stored_images},
      {.path = "data.augment.color_jitter.brightness",
       .slot = [](C& c) -> Slot { return &c.data.augment.color_jitter.brightness; },
       .help = "a factor is drawn between 1 - this and 1 + this; 0: off",
       .range = at_least(0, 10),
       .used_by = with_stored_images},
      {.path = "data.augment.color_jitter.contrast",
       .slot = [](C& c) -> Slot { return &c.data.augment.color_jitter.contrast; },
       .help = "a factor is drawn between 1 - this and 1 + this; 0: off",
       .range = at_least(0, 10),
       .used_by = with_stored_images},
      {.path = "data.augment.color_jitter.saturation",
       .slot = [](C& c) -> Slot { return &c.data.augment.color_jitter.saturation; },
       .help = "a factor is drawn between 1 - this and 1 + this; 0: off",
       .range = at_least(0, 10),
       .used_by = with_stored_images},
  };
}

}  // namespace spire::inline config::schema_parts
