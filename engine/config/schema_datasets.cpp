// Keys of single datasets: CIFAR-100, CSV, synthetic, token files, HDF5, arrays of NumPy and
// images.
#include <algorithm>
#include <iterator>

#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

namespace {

std::vector<Field> cifar100_fields() {
  return {
      {.path = "data.cifar100.labels",
       .slot = [](C& c) -> Slot { return &c.data.cifar100.labels; },
       .help = "the 100 fine classes, or the 20 coarse ones",
       .used_by = {"data.name", {"cifar100"}}},
  };
}

// With auto these follow from the rows of the file.
std::vector<Field> csv_fields() {
  const Use with_csv = {"data.name", {"csv"}};
  return {
      {.path = "data.csv.header",
       .slot = [](C& c) -> Slot { return &c.data.csv.header; },
       .help = "whether the first row holds column names; auto: yes when none of its fields is a "
               "number",
       .used_by = with_csv},
      {.path = "data.csv.separator",
       .slot = [](C& c) -> Slot { return &c.data.csv.separator; },
       .help = "separator of fields; auto: the one that splits the first rows evenly into the most "
               "fields",
       .used_by = with_csv},
      {.path = "data.csv.decimal",
       .slot = [](C& c) -> Slot { return &c.data.csv.decimal; },
       .help = "mark of decimals, 1.5 or 1,5; auto: the one that reads most numbers",
       .used_by = with_csv},
      {.path = "data.csv.dates",
       .slot = [](C& c) -> Slot { return &c.data.csv.dates; },
       .help = "order of dates such as 3/4/2024; auto: the one that the other dates show",
       .used_by = with_csv},
      {.path = "data.csv.missing",
       .slot = [](C& c) -> Slot { return &c.data.csv.missing; },
       .help = "texts that count as empty fields, of numbers and words; auto: NA, N/A, NaN, null, "
               "None, ?, #N/A and other marks of spreadsheets and databases",
       .used_by = with_csv},
      {.path = "data.csv.target",
       .slot = [](C& c) -> Slot { return &c.data.csv.target; },
       .help = "column to predict: its name, its number counted from 0, or last",
       .used_by = with_csv},
      {.path = "data.csv.task",
       .slot = [](C& c) -> Slot { return &c.data.csv.task; },
       .help = "whether the target is a class or a value; auto: a value when it has numbers that "
               "are not whole, or more than 100 different ones, else a class",
       .used_by = with_csv},
      {.path = "data.csv.ignore",
       .slot = [](C& c) -> Slot { return &c.data.csv.ignore; },
       .help = "columns that are left out, by name or number from 0; auto: those that help no "
               "model: one that numbers the rows, called id, index or nothing, and those with a "
               "word of its own for most rows, or without a field; []: none",
       .used_by = with_csv},
      {.path = "data.csv.categories",
       .slot = [](C& c) -> Slot { return &c.data.csv.categories; },
       .help = "columns of words: a feature of 0 or 1 a word; a vector that the model learns a "
               "word; or an error",
       .used_by = with_csv},
      {.path = "data.csv.max_levels",
       .slot = [](C& c) -> Slot { return &c.data.csv.max_levels; },
       .help = "most different words that a column of words may have",
       .range = at_least(1, 4096),
       .unit = "words",
       .used_by = with_csv},
      {.path = "data.csv.blanks",
       .slot = [](C& c) -> Slot { return &c.data.csv.blanks; },
       .help = "what an empty number counts as: the training rows' mean or median, 0, or an error; "
               "an empty word is a word of its own",
       .used_by = with_csv},
      {.path = "data.csv.scale_target",
       .slot = [](C& c) -> Slot { return &c.data.csv.scale_target; },
       .help = "learn values less their mean, divided by their deviation; outputs and metrics stay "
               "in the values' unit",
       .used_by = with_csv},
      // A hash of its number decides whether a row is kept for testing.
      {.path = "data.csv.test_share",
       .slot = [](C& c) -> Slot { return &c.data.csv.test_share; },
       .help = "share of the rows kept for testing, when there is no test.csv",
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = with_csv},
  };
}

// Samples without files, for tests and timings.
std::vector<Field> synthetic_fields() {
  const Use with_synthetic = {"data.name", {"synthetic"}};
  return {
      {.path = "data.synthetic.kind",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.kind; },
       .help = "what the random samples are",
       .used_by = with_synthetic},
      {.path = "data.synthetic.shape",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.shape; },
       .help = "shape of a sample: images [height, width, channels], features [F], tokens [T]",
       .range = at_least(1, max_size),
       .used_by = with_synthetic},
      {.path = "data.synthetic.classes",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.classes; },
       .help = "number of classes; tokens: size of the vocabulary",
       .range = at_least(2, max_size),
       .used_by = with_synthetic},
      {.path = "data.synthetic.samples",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.samples; },
       .help = "for training",
       .range = at_least(1, max_steps),
       .unit = "samples",
       .used_by = with_synthetic},
      {.path = "data.synthetic.test_samples",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.test_samples; },
       .help = "for evaluation",
       .range = at_least(1, max_steps),
       .unit = "samples",
       .used_by = with_synthetic},
  };
}

// Token shards, or text that is tokenized when the run starts.
std::vector<Field> tokens_fields() {
  const Use with_tokens = {"data.name", {"tokens"}};
  return {
      {.path = "data.tokens.length",
       .slot = [](C& c) -> Slot { return &c.data.tokens.length; },
       .help = "length of a sample",
       .range = at_least(1, max_size),
       .unit = "tokens",
       .used_by = with_tokens},
      {.path = "data.tokens.text",
       .slot = [](C& c) -> Slot { return &c.data.tokens.text; },
       .help = "files of text, or of documents (*.jsonl, a JSON object a line, plain or gzip; "
               "*.parquet, *.arrow, one a row), or folders of documents, to read in place of token "
               "shards; []: the shards in data.path",
       .is_path = true,
       .used_by = with_tokens},
      {.path = "data.tokens.field",
       .slot = [](C& c) -> Slot { return &c.data.tokens.field; },
       .help = "*.jsonl, *.parquet, *.arrow: key or column of the text of a document; a.b: b in a",
       .used_by = with_tokens},
      {.path = "data.tokens.documents",
       .slot = [](C& c) -> Slot { return &c.data.tokens.documents; },
       .help =
           "joined: samples are windows of one long text; packed: documents in a new order each "
           "epoch, whose tokens attend and count positions within their document alone",
       .used_by = with_tokens},
      {.path = "data.tokens.vocabulary",
       .slot = [](C& c) -> Slot { return &c.data.tokens.vocabulary; },
       .help = "tokenizer of the text; auto: bytes, or for shards the one stored with them",
       .used_by = with_tokens},
      {.path = "data.tokens.bpe_path",
       .slot = [](C& c) -> Slot { return &c.data.tokens.bpe_path; },
       .help =
           "gpt2: folder of encoder.json and vocab.bpe or of tokenizer.json, or this file; auto: "
           "the places where they are usually installed",
       .is_path = true,
       .used_by = with_tokens},
      {.path = "data.tokens.val_share",
       .slot = [](C& c) -> Slot { return &c.data.tokens.val_share; },
       .help = "share of the text, at its end, kept for evaluation",
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = with_tokens},
  };
}

}  // namespace

std::vector<Field> dataset_fields() {
  std::vector<Field> fields;
  for (auto part : {cifar100_fields, csv_fields, synthetic_fields, tokens_fields})
    std::ranges::copy(part(), std::back_inserter(fields));
  return fields;
}

// HDF5 files, arrays of NumPy and images: these sections are printed after data.augment.
std::vector<Field> file_fields() {
  const Use with_hdf5 = {"data.name", {"hdf5"}};
  const Use with_npy = {"data.name", {"npy"}};
  return {
      {.path = "data.hdf5.cache_mib",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.cache_mib; },
       .help = "decoded chunks of an HDF5 file to keep in memory",
       .range = at_least(1, max_size),
       .unit = "MiB",
       .used_by = with_hdf5,
       .shapes_result = false},
      {.path = "data.hdf5.task",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.task; },
       .help = "what the target is; auto: as its type and name have it, where they agree; class: "
               "integers are labels; value: floating-point numbers are to be found",
       .used_by = with_hdf5},
      // Paths inside the file. Dimensions: N samples, H height, W width, C channels,
      // F features, T tokens, K values.
      {.path = "data.hdf5.train.input",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.train.input; },
       .help = "dataset of the file: images (N, H, W, C), features (N, F) or tokens (N, T); auto: "
               "train/images, train/features or train/tokens",
       .used_by = with_hdf5},
      {.path = "data.hdf5.train.target",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.train.target; },
       .help =
           "dataset of the file: labels (N), values (N) or (N, K), tokens (N, T), images (N, H, "
           "W, C) or masks (N, H, W); auto: train/labels, values, targets, target_images or "
           "masks",
       .used_by = with_hdf5},
      {.path = "data.hdf5.test.input",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.test.input; },
       .help = "the same for the test samples",
       .used_by = with_hdf5},
      {.path = "data.hdf5.test.target",
       .slot = [](C& c) -> Slot { return &c.data.hdf5.test.target; },
       .help = "the same for the test samples",
       .used_by = with_hdf5},
      {.path = "data.npy.task",
       .slot = [](C& c) -> Slot { return &c.data.npy.task; },
       .help = "what the target is, as data.hdf5.task",
       .used_by = with_npy},
      {.path = "data.npy.test_share",
       .slot = [](C& c) -> Slot { return &c.data.npy.test_share; },
       .help = "share of the rows kept for testing, when there is no x_test",
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = with_npy},
      // Names of files in the folder, or of arrays in the archive, without .npy.
      {.path = "data.npy.train.input",
       .slot = [](C& c) -> Slot { return &c.data.npy.train.input; },
       .help = "array of shapes as those of data.hdf5.train.input; auto: x_train, images_train, "
               "features_train or tokens_train, also as train_images or x",
       .is_path = true,
       .used_by = with_npy},
      {.path = "data.npy.train.target",
       .slot = [](C& c) -> Slot { return &c.data.npy.train.target; },
       .help = "array of shapes as those of data.hdf5.train.target; auto: y_train, labels_train, "
               "values_train, targets_train, target_images_train or masks_train, also as "
               "train_labels or y",
       .is_path = true,
       .used_by = with_npy},
      {.path = "data.npy.test.input",
       .slot = [](C& c) -> Slot { return &c.data.npy.test.input; },
       .help = "the same for the test samples",
       .is_path = true,
       .used_by = with_npy},
      {.path = "data.npy.test.target",
       .slot = [](C& c) -> Slot { return &c.data.npy.test.target; },
       .help = "the same for the test samples",
       .is_path = true,
       .used_by = with_npy},
      {.path = "data.image.size",
       .slot = [](C& c) -> Slot { return &c.data.image.size; },
       .help = "height and width of the images that the model reads; 0: 224 for files of images, "
               "else as stored",
       .range = at_least(0, 16384),
       .unit = "pixels",
       .used_by = stored_images()},
      {.path = "data.image.eval_size",
       .slot = [](C& c) -> Slot { return &c.data.image.eval_size; },
       .help = "the same in evaluations and predictions; 0: data.image.size",
       .range = at_least(0, 16384),
       .unit = "pixels",
       .used_by = stored_images()},
      {.path = "data.image.fit",
       .slot = [](C& c) -> Slot { return &c.data.image.fit; },
       .help = "how an image becomes a square: crop: its middle; pad: all of it, with black bars; "
               "squash: all of it, with its sides scaled apart",
       .used_by = stored_images()},
      {.path = "data.image.test_share",
       .slot = [](C& c) -> Slot { return &c.data.image.test_share; },
       .help = "share of each class kept for testing, when there are no files for it",
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = {"data.name", {"image_folder", "webdataset"}}},
  };
}

// Images with a target of their own: files in pairs, or a degraded copy of each image.
std::vector<Field> pair_fields() {
  const Use with_pairs = {"data.name", {"image_pairs"}};
  const Use with_masks = {"data.name", {"hdf5", "image_pairs", "npy"}};
  return {
      {.path = "data.pairs.target",
       .slot = [](C& c) -> Slot { return &c.data.pairs.target; },
       .help = "what belongs to each image: another image, or a mask, whose pixels are classes",
       .used_by = with_pairs},
      {.path = "data.pairs.classes",
       .slot = [](C& c) -> Slot { return &c.data.pairs.classes; },
       .help = "number of classes in masks; 0: as many as the training masks contain, which are "
               "then all read at the start",
       .range = at_least(0, 255),
       .used_by = with_masks},
      {.path = "data.pairs.ignore_label",
       .slot = [](C& c) -> Slot { return &c.data.pairs.ignore_label; },
       .help = "pixels of masks with this value count neither in the loss nor in metrics; -1: none",
       .range = at_least(-1, 255),
       .used_by = with_masks},
      // A hash of its number decides whether a pair is kept for testing.
      {.path = "data.pairs.test_share",
       .slot = [](C& c) -> Slot { return &c.data.pairs.test_share; },
       .help = "share of the pairs kept for testing, when there is no folder or list for it",
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = with_pairs},
      {.path = "data.degrade.kind",
       .slot = [](C& c) -> Slot { return &c.data.degrade.kind; },
       .help = "what is done to each image to get the model's input, with the image as its target: "
               "noise is added, or its resolution is lowered; none: images have no such target",
       .used_by = stored_images()},
      {.path = "data.degrade.noise",
       .slot = [](C& c) -> Slot { return &c.data.degrade.noise; },
       .help = "standard deviation of the noise, of pixels from 0 to 1",
       .range = {.low = 0, .high = 1, .low_open = true},
       .used_by = {"data.degrade.kind", {"noise"}}},
      {.path = "data.degrade.scale",
       .slot = [](C& c) -> Slot { return &c.data.degrade.scale; },
       .help = "squares of this side become one pixel, their mean",
       .range = at_least(2, 64),
       .unit = "pixels",
       .used_by = {"data.degrade.kind", {"downscale"}}},
      {.path = "data.degrade.upscale",
       .slot = [](C& c) -> Slot { return &c.data.degrade.upscale; },
       .help = "how the small image gets its size back",
       .used_by = {"data.degrade.kind", {"downscale"}}},
  };
}

}  // namespace spire::inline config::schema_parts
