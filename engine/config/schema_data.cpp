// Keys of the data that all datasets share, and of the augmentation of images.
#include "engine/config/schema_parts.h"

namespace spire::schema_parts {

std::vector<Field> data_fields() {
  const Use with_files = {"data.name",
                          dataset_names([](const DatasetKind& kind) { return kind.in_files; })};
  const Use with_stored_images = stored_images();
  return {
      {KEY(data.name, "dataset; docs/formats.md describes the files of each"),
       .choices = dataset_names([](const DatasetKind&) { return true; })},
      {KEY(data.path,
           "folder of the files (csv, hdf5: the file; npy: also a .npz file), relative to the "
           "current directory; auto: the places where the dataset is usually installed"),
       .is_path = true, .used_by = with_files, .shapes_result = false},
      // Reading ahead changes neither samples nor their order.
      {KEY(data.workers, "reader threads that prepare batches"), .range = at_least(1, 1024),
       .unit = "threads", .shapes_result = false},
      {KEY(data.prefetch, "batches prepared ahead of the step that needs them"),
       .range = at_least(1, 1024), .unit = "global batches", .shapes_result = false},
      // The samples of a step and their order.
      {KEY(data.last_batch,
           "a smaller last batch of an epoch is used with its true weight (weighted), or dropped")},
      {KEY(data.shuffle,
           "order of samples in an epoch: full: any order; chunk: chunks of an HDF5 file, or tar "
           "shards, in random order, and samples shuffled within a few of them; auto: chunk for "
           "hdf5, else full")},
      {KEY(data.on_error, "a broken sample stops the run, or is counted and skipped"),
       .used_by = {"data.name",
                   {"csv", "hdf5", "image_folder", "image_pairs", "npy", "tokens", "webdataset"}}},
      // A keyed permutation chooses the share, the same for every seed (engine/data/validation.h).
      {KEY(data.val.share,
           "share of the training samples, of each class alike, that is held out to choose the "
           "best checkpoint and to stop early; test data is then evaluated once, at the end; 0: "
           "none, the test data decides"),
       .range = fraction_range},
      {KEY(data.val.path,
           "the same from files of their own, in the form of data.path (a text file where "
           "data.tokens.text has some), all of whose samples are used; none: no files"),
       .is_path = true, .used_by = with_files},
      // The model reads (pixel / 255 - mean) / stddev, or pixel / 255.
      {KEY(data.normalize,
           "images: standard: (pixel / 255 - mean) / stddev; unit: pixel / 255; auto: unit for "
           "models that make images, else standard"),
       .used_by = with_stored_images},
      {KEY(data.mean, "of pixel / 255, one number per channel; []: the dataset's own"),
       .range = {.low = -1e6, .high = 1e6}, .used_by = with_stored_images},
      {KEY(data.stddev, "of pixel / 255, one number per channel; []: the dataset's own"),
       .range = {.low = 0, .high = 1e6, .low_open = true}, .used_by = with_stored_images},
  };
}

// Random numbers of an augmentation depend on (seed, epoch, sample) alone.
std::vector<Field> augment_fields() {
  const Use with_stored_images = stored_images();
  return {
      {KEY(data.augment.crop,
           "pixels of zero padding on each side before a random crop of the original size"),
       .range = at_least(0, 1024), .unit = "pixels", .used_by = with_stored_images},
      {KEY(data.augment.flip, "mirror half of the samples, chosen at random"),
       .used_by = with_stored_images},
      // Szegedy et al., "Going Deeper with Convolutions", 2015.
      {KEY(data.augment.random_resized_crop,
           "train on a random part of each image, resized to data.image.size"),
       .used_by = with_stored_images},
      {KEY(data.augment.min_scale,
           "random_resized_crop: smallest share of the image's area that is taken"),
       .range = {.low = 0, .high = 1, .low_open = true}, .used_by = with_stored_images},
      // Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018.
      {KEY(data.augment.mixup,
           "alpha of Beta(alpha, alpha), from which the share is drawn by which two samples are "
           "blended; 0: off"),
       .range = at_least(0, 1000), .used_by = with_stored_images},
      // Yun et al., "CutMix", 2019: the labels are mixed by the areas.
      {KEY(data.augment.cutmix,
           "alpha of Beta(alpha, alpha), from which the area is drawn of the box that is pasted "
           "from another image; 0: off; with mixup: each for half of the pairs"),
       .range = at_least(0, 1000), .used_by = with_stored_images},
      {KEY(data.augment.color_jitter.brightness,
           "a factor is drawn between 1 - this and 1 + this; 0: off"),
       .range = at_least(0, 10), .used_by = with_stored_images},
      {KEY(data.augment.color_jitter.contrast,
           "a factor is drawn between 1 - this and 1 + this; 0: off"),
       .range = at_least(0, 10), .used_by = with_stored_images},
      {KEY(data.augment.color_jitter.saturation,
           "a factor is drawn between 1 - this and 1 + this; 0: off"),
       .range = at_least(0, 10), .used_by = with_stored_images},
      {KEY(data.augment.affine.rotate, "an angle is drawn of at most this, either way; 0: off"),
       .range = at_least(0, 180), .unit = "degrees", .used_by = with_stored_images},
      {KEY(data.augment.affine.translate,
           "a shift is drawn of at most this share of width and height, either way; 0: off"),
       .range = at_least(0, 1), .used_by = with_stored_images},
      {KEY(data.augment.affine.scale,
           "a factor of the size is drawn between 1 - this and 1 + this; 0: off"),
       .range = fraction_range, .used_by = with_stored_images},
      {KEY(data.augment.affine.shear,
           "the angle of a slant along x is drawn of at most this, either way; 0: off"),
       .range = at_least(0, 80), .unit = "degrees", .used_by = with_stored_images},
      // Cubuk et al., "RandAugment", 2020.
      {KEY(data.augment.rand_augment.count,
           "operations that change each image, drawn from RandAugment's 14; 0: off"),
       .range = at_least(0, 100), .unit = "operations", .used_by = with_stored_images},
      {KEY(data.augment.rand_augment.magnitude, "strength of the operations"),
       .range = at_least(0, 30), .used_by = with_stored_images},
      // Zhong et al., "Random Erasing Data Augmentation", 2020.
      {KEY(data.augment.erase.probability,
           "that a rectangle of an image becomes 0 after normalization; 0: off"),
       .range = at_least(0, 1), .used_by = with_stored_images},
      {KEY(data.augment.erase.min_share, "smallest share of the image's area that is erased"),
       .range = {.low = 0, .high = 1, .low_open = true}, .used_by = with_stored_images},
      {KEY(data.augment.erase.max_share, "largest share of the image's area that is erased"),
       .range = {.low = 0, .high = 1, .low_open = true}, .used_by = with_stored_images},
  };
}

}  // namespace spire::schema_parts
