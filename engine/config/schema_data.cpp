// Keys of the data: those that all datasets share, of the augmentation of images, and of single
// datasets.
#include "engine/config/schema_parts.h"

namespace spire::schema_parts {

namespace {

std::vector<Field> shared_fields() {
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
  return {
      {KEY(data.augment.crop,
           "pixels of zero padding on each side before a random crop of the original size"),
       .range = at_least(0, 1024), .unit = "pixels"},
      {KEY(data.augment.flip, "mirror half of the samples, chosen at random")},
      // Szegedy et al., "Going Deeper with Convolutions", 2015.
      {KEY(data.augment.random_resized_crop,
           "train on a random part of each image, resized to data.image.size")},
      {KEY(data.augment.min_scale,
           "random_resized_crop: smallest share of the image's area that is taken"),
       .range = positive_share},
      // Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018.
      {KEY(data.augment.mixup,
           "alpha of Beta(alpha, alpha), from which the share is drawn by which two samples are "
           "blended; 0: off"),
       .range = at_least(0, 1000)},
      // Yun et al., "CutMix", 2019: the labels are mixed by the areas.
      {KEY(data.augment.cutmix,
           "alpha of Beta(alpha, alpha), from which the area is drawn of the box that is pasted "
           "from another image; 0: off; with mixup: each for half of the pairs"),
       .range = at_least(0, 1000)},
      {KEY(data.augment.color_jitter.brightness,
           "a factor is drawn between 1 - this and 1 + this; 0: off"),
       .range = at_least(0, 10)},
      {KEY(data.augment.color_jitter.contrast,
           "a factor is drawn between 1 - this and 1 + this; 0: off"),
       .range = at_least(0, 10)},
      {KEY(data.augment.color_jitter.saturation,
           "a factor is drawn between 1 - this and 1 + this; 0: off"),
       .range = at_least(0, 10)},
      {KEY(data.augment.affine.rotate, "an angle is drawn of at most this, either way; 0: off"),
       .range = at_least(0, 180), .unit = "degrees"},
      {KEY(data.augment.affine.translate,
           "a shift is drawn of at most this share of width and height, either way; 0: off"),
       .range = at_least(0, 1)},
      {KEY(data.augment.affine.scale,
           "a factor of the size is drawn between 1 - this and 1 + this; 0: off"),
       .range = fraction_range},
      {KEY(data.augment.affine.shear,
           "the angle of a slant along x is drawn of at most this, either way; 0: off"),
       .range = at_least(0, 80), .unit = "degrees"},
      // Cubuk et al., "RandAugment", 2020.
      {KEY(data.augment.rand_augment.count,
           "operations that change each image, drawn from RandAugment's 14; 0: off"),
       .range = at_least(0, 100), .unit = "operations"},
      {KEY(data.augment.rand_augment.magnitude, "strength of the operations"),
       .range = at_least(0, 30)},
      // Zhong et al., "Random Erasing Data Augmentation", 2020.
      {KEY(data.augment.erase.probability,
           "that a rectangle of an image becomes 0 after normalization; 0: off"),
       .range = at_least(0, 1)},
      {KEY(data.augment.erase.min_share, "smallest share of the image's area that is erased"),
       .range = positive_share},
      {KEY(data.augment.erase.max_share, "largest share of the image's area that is erased"),
       .range = positive_share},
  };
}

// With auto these follow from the rows of the file.
std::vector<Field> csv_fields() {
  return {
      {KEY(data.csv.header,
           "whether the first row holds column names; auto: yes when none of its fields is a "
           "number")},
      {KEY(data.csv.separator,
           "separator of fields; auto: the one that splits the first rows evenly into the most "
           "fields")},
      {KEY(data.csv.decimal,
           "mark of decimals, 1.5 or 1,5; auto: the one that reads most numbers")},
      {KEY(data.csv.dates,
           "order of dates such as 3/4/2024; auto: the one that the other dates show")},
      {KEY(data.csv.missing,
           "texts that count as empty fields, of numbers and words; auto: NA, N/A, NaN, null, "
           "None, ?, #N/A and other marks of spreadsheets and databases")},
      {KEY(data.csv.target, "column to predict: its name, its number counted from 0, or last")},
      {KEY(data.csv.task,
           "whether the target is a class or a value; auto: a value when it has numbers that are "
           "not whole, or more than 100 different ones, else a class")},
      {KEY(data.csv.ignore,
           "columns that are left out, by name or number from 0; auto: those that help no model: "
           "one that numbers the rows, called id, index or nothing, and those with a word of its "
           "own for most rows, or without a field; []: none")},
      {KEY(data.csv.categories,
           "columns of words: a feature of 0 or 1 a word; a vector that the model learns a word; "
           "or an error")},
      {KEY(data.csv.max_levels, "most different words that a column of words may have"),
       .range = at_least(1, 4096), .unit = "words"},
      {KEY(data.csv.blanks,
           "what an empty number counts as: the training rows' mean or median, 0, or an error; an "
           "empty word is a word of its own")},
      {KEY(data.csv.scale_target,
           "learn values less their mean, divided by their deviation; outputs and metrics stay in "
           "the values' unit")},
      // A hash of its number decides whether a row is kept for testing.
      {KEY(data.csv.test_share, "share of the rows kept for testing, when there is no test.csv"),
       .range = inner_share},
  };
}

// Samples without files, for tests and timings.
std::vector<Field> synthetic_fields() {
  return {
      {KEY(data.synthetic.kind, "what the random samples are")},
      {KEY(data.synthetic.shape,
           "shape of a sample: images [height, width, channels], features [F], tokens [T]"),
       .range = at_least(1, max_size)},
      {KEY(data.synthetic.classes, "number of classes; tokens: size of the vocabulary"),
       .range = at_least(2, max_size)},
      {KEY(data.synthetic.samples, "for training"), .range = at_least(1, max_steps),
       .unit = "samples"},
      {KEY(data.synthetic.test_samples, "for evaluation"), .range = at_least(1, max_steps),
       .unit = "samples"},
  };
}

// Token shards, or text that is tokenized when the run starts.
std::vector<Field> tokens_fields() {
  return {
      {KEY(data.tokens.length, "length of a sample"), .range = at_least(1, max_size),
       .unit = "tokens"},
      {KEY(data.tokens.text,
           "files of text, or of documents (*.jsonl, a JSON object a line, plain or gzip; "
           "*.parquet, *.arrow, one a row), or folders of documents, to read in place of token "
           "shards; []: the shards in data.path"),
       .is_path = true},
      {KEY(data.tokens.field,
           "*.jsonl, *.parquet, *.arrow: key or column of the text of a document; a.b: b in a")},
      {KEY(data.tokens.documents,
           "joined: samples are windows of one long text; packed: documents in a new order each "
           "epoch, whose tokens attend and count positions within their document alone")},
      {KEY(data.tokens.vocabulary,
           "tokenizer of the text; auto: bytes, or for shards the one stored with them")},
      {KEY(data.tokens.bpe_path,
           "gpt2: folder of encoder.json and vocab.bpe or of tokenizer.json, or this file; auto: "
           "the places where they are usually installed"),
       .is_path = true},
      {KEY(data.tokens.val_share, "share of the text, at its end, kept for evaluation"),
       .range = inner_share},
  };
}

std::vector<Field> hdf5_fields() {
  return {
      {KEY(data.hdf5.cache_mib, "decoded chunks of an HDF5 file to keep in memory"),
       .range = at_least(1, max_size), .unit = "MiB", .shapes_result = false},
      {KEY(data.hdf5.task,
           "what the target is; auto: as its type and name have it, where they agree; class: "
           "integers are labels; value: floating-point numbers are to be found")},
      // Paths inside the file. Dimensions: N samples, H height, W width, C channels,
      // F features, T tokens, K values.
      {KEY(data.hdf5.train.input,
           "dataset of the file: images (N, H, W, C), features (N, F) or tokens (N, T); auto: "
           "train/images, train/features or train/tokens")},
      {KEY(data.hdf5.train.target,
           "dataset of the file: labels (N), values (N) or (N, K), tokens (N, T), images (N, H, W, "
           "C) or masks (N, H, W); auto: train/labels, values, targets, target_images or masks")},
      {KEY(data.hdf5.test.input, "the same for the test samples")},
      {KEY(data.hdf5.test.target, "the same for the test samples")},
  };
}

std::vector<Field> npy_fields() {
  return {
      {KEY(data.npy.task, "what the target is, as data.hdf5.task")},
      {KEY(data.npy.test_share, "share of the rows kept for testing, when there is no x_test"),
       .range = inner_share},
      // Names of files in the folder, or of arrays in the archive, without .npy.
      {KEY(data.npy.train.input,
           "array of shapes as those of data.hdf5.train.input; auto: x_train, images_train, "
           "features_train or tokens_train, also as train_images or x"),
       .is_path = true},
      {KEY(data.npy.train.target,
           "array of shapes as those of data.hdf5.train.target; auto: y_train, labels_train, "
           "values_train, targets_train, target_images_train or masks_train, also as train_labels "
           "or y"),
       .is_path = true},
      {KEY(data.npy.test.input, "the same for the test samples"), .is_path = true},
      {KEY(data.npy.test.target, "the same for the test samples"), .is_path = true},
  };
}

std::vector<Field> image_fields() {
  return {
      {KEY(data.image.size,
           "height and width of the images that the model reads; 0: 224 for files of images, else "
           "as stored"),
       .range = at_least(0, 16384), .unit = "pixels"},
      {KEY(data.image.eval_size, "the same in evaluations and predictions; 0: data.image.size"),
       .range = at_least(0, 16384), .unit = "pixels"},
      {KEY(data.image.fit,
           "how an image becomes a square: crop: its middle; pad: all of it, with black bars; "
           "squash: all of it, with its sides scaled apart")},
  };
}

// Images in folders, and those with a target of their own: files in pairs, or a degraded copy of
// each image.
std::vector<Field> pair_fields() {
  const Use with_pairs = {"data.name", {"image_pairs"}};
  const Use with_masks = {"data.name", {"hdf5", "image_pairs", "npy"}};
  Use with_any_images = stored_images();
  with_any_images.words.emplace_back("synthetic");
  return {
      {KEY(data.image.test_share,
           "share of each class kept for testing, when there are no files for it"),
       .range = inner_share, .used_by = {"data.name", {"image_folder", "webdataset"}}},
      {KEY(data.pairs.target,
           "what belongs to each image: another image, or a mask, whose pixels are classes"),
       .used_by = with_pairs},
      {KEY(data.pairs.classes,
           "number of classes in masks; 0: as many as the training masks contain, which are then "
           "all read at the start"),
       .range = at_least(0, 255), .used_by = with_masks},
      {KEY(data.pairs.ignore_label,
           "pixels of masks with this value count neither in the loss nor in metrics; -1: none"),
       .range = at_least(-1, 255), .used_by = with_masks},
      // A hash of its number decides whether a pair is kept for testing.
      {KEY(data.pairs.test_share,
           "share of the pairs kept for testing, when there is no folder or list for it"),
       .range = inner_share, .used_by = with_pairs},
      {KEY(data.degrade.kind,
           "what is done to each image to get the model's input, with the image as its target: "
           "noise is added, or its resolution is lowered; none: images have no such target"),
       .used_by = with_any_images},
      {KEY(data.degrade.noise, "standard deviation of the noise, of pixels from 0 to 1"),
       .range = positive_share, .used_by = {"data.degrade.kind", {"noise"}}},
      {KEY(data.degrade.scale, "squares of this side become one pixel, their mean"),
       .range = at_least(2, 64), .unit = "pixels", .used_by = {"data.degrade.kind", {"downscale"}}},
      {KEY(data.degrade.upscale, "how the small image gets its size back"),
       .used_by = {"data.degrade.kind", {"downscale"}}},
  };
}

}  // namespace

std::vector<Field> data_fields() {
  auto of = [](const char* name) { return Use{"data.name", {name}}; };
  return join({shared_fields(),
               used_by(of("cifar100"), {{KEY(data.cifar100.labels,
                                             "the 100 fine classes, or the 20 coarse ones")}}),
               used_by(of("csv"), csv_fields()), used_by(of("synthetic"), synthetic_fields()),
               used_by(of("tokens"), tokens_fields()), used_by(stored_images(), augment_fields()),
               used_by(of("hdf5"), hdf5_fields()), used_by(of("npy"), npy_fields()),
               used_by(stored_images(), image_fields()), pair_fields()});
}

}  // namespace spire::schema_parts
