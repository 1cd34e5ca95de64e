// Datasets in HDF5 files and folders of images.
#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

std::vector<Field> file_fields() {
  const Use with_hdf5 = {"data.name", {"hdf5"}};
  return {
      {.path = "data.hdf5.cache_mib",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.cache_mib; },
       .help = "decoded chunks of an HDF5 file to keep in memory",
       .range = at_least(1, kSizes),
       .unit = "MiB",
       .used_by = with_hdf5},
      {.path = "data.hdf5.task",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.task; },
       .help = "what the target is; auto: as its type and name have it, where they agree; class: "
               "integers are labels; value: floating-point numbers are to be found",
       .choices = {"auto", "class", "value"},
       .used_by = with_hdf5},
      {.path = "data.hdf5.train.input",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.train.input; },
       .help = "dataset of the file: images (N, H, W, C), features (N, F) or tokens (N, T); auto: "
               "train/images, train/features or train/tokens",
       .used_by = with_hdf5},
      {.path = "data.hdf5.train.target",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.train.target; },
       .help = "dataset of the file: labels (N), values (N) or (N, K), or tokens (N, T); auto: "
               "train/labels, train/values or train/targets",
       .used_by = with_hdf5},
      {.path = "data.hdf5.test.input",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.test.input; },
       .help = "the same for the test samples",
       .used_by = with_hdf5},
      {.path = "data.hdf5.test.target",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.test.target; },
       .help = "the same for the test samples",
       .used_by = with_hdf5},
      {.path = "data.image.size",
       .slot = [](C& c) -> Slot { return &c.data.image.size; },
       .help = "height and width of the images that the model reads; 0: 224",
       .range = at_least(0, 16384),
       .unit = "pixels",
       .used_by = {"data.name", {"image_folder"}}},
  };
}

}  // namespace spire::inline config::schema_parts
