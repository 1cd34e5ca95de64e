// Keys of single datasets: CIFAR-100, CSV, synthetic, token files, HDF5, arrays of NumPy and
// images.
#include <algorithm>
#include <iterator>

#include "engine/config/schema_parts.h"

namespace spire::schema_parts {

namespace {

std::vector<Field> cifar100_fields() {
  return {
      {KEY(data.cifar100.labels, "the 100 fine classes, or the 20 coarse ones"),
       .used_by = {"data.name", {"cifar100"}}},
  };
}

// With auto these follow from the rows of the file.
std::vector<Field> csv_fields() {
  const Use with_csv = {"data.name", {"csv"}};
  return {
      {KEY(data.csv.header,
           "whether the first row holds column names; auto: yes when none of its fields is a "
           "number"),
       .used_by = with_csv},
      {KEY(data.csv.separator,
           "separator of fields; auto: the one that splits the first rows evenly into the most "
           "fields"),
       .used_by = with_csv},
      {KEY(data.csv.decimal, "mark of decimals, 1.5 or 1,5; auto: the one that reads most numbers"),
       .used_by = with_csv},
      {KEY(data.csv.dates,
           "order of dates such as 3/4/2024; auto: the one that the other dates show"),
       .used_by = with_csv},
      {KEY(data.csv.missing,
           "texts that count as empty fields, of numbers and words; auto: NA, N/A, NaN, null, "
           "None, ?, #N/A and other marks of spreadsheets and databases"),
       .used_by = with_csv},
      {KEY(data.csv.target, "column to predict: its name, its number counted from 0, or last"),
       .used_by = with_csv},
      {KEY(data.csv.task,
           "whether the target is a class or a value; auto: a value when it has numbers that are "
           "not whole, or more than 100 different ones, else a class"),
       .used_by = with_csv},
      {KEY(data.csv.ignore,
           "columns that are left out, by name or number from 0; auto: those that help no model: "
           "one that numbers the rows, called id, index or nothing, and those with a word of its "
           "own for most rows, or without a field; []: none"),
       .used_by = with_csv},
      {KEY(data.csv.categories,
           "columns of words: a feature of 0 or 1 a word; a vector that the model learns a word; "
           "or an error"),
       .used_by = with_csv},
      {KEY(data.csv.max_levels, "most different words that a column of words may have"),
       .range = at_least(1, 4096), .unit = "words", .used_by = with_csv},
      {KEY(data.csv.blanks,
           "what an empty number counts as: the training rows' mean or median, 0, or an error; an "
           "empty word is a word of its own"),
       .used_by = with_csv},
      {KEY(data.csv.scale_target,
           "learn values less their mean, divided by their deviation; outputs and metrics stay in "
           "the values' unit"),
       .used_by = with_csv},
      // A hash of its number decides whether a row is kept for testing.
      {KEY(data.csv.test_share, "share of the rows kept for testing, when there is no test.csv"),
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true}, .used_by = with_csv},
  };
}

// Samples without files, for tests and timings.
std::vector<Field> synthetic_fields() {
  const Use with_synthetic = {"data.name", {"synthetic"}};
  return {
      {KEY(data.synthetic.kind, "what the random samples are"), .used_by = with_synthetic},
      {KEY(data.synthetic.shape,
           "shape of a sample: images [height, width, channels], features [F], tokens [T]"),
       .range = at_least(1, max_size), .used_by = with_synthetic},
      {KEY(data.synthetic.classes, "number of classes; tokens: size of the vocabulary"),
       .range = at_least(2, max_size), .used_by = with_synthetic},
      {KEY(data.synthetic.samples, "for training"), .range = at_least(1, max_steps),
       .unit = "samples", .used_by = with_synthetic},
      {KEY(data.synthetic.test_samples, "for evaluation"), .range = at_least(1, max_steps),
       .unit = "samples", .used_by = with_synthetic},
  };
}

// Token shards, or text that is tokenized when the run starts.
std::vector<Field> tokens_fields() {
  const Use with_tokens = {"data.name", {"tokens"}};
  return {
      {KEY(data.tokens.length, "length of a sample"), .range = at_least(1, max_size),
       .unit = "tokens", .used_by = with_tokens},
      {KEY(data.tokens.text,
           "files of text, or of documents (*.jsonl, a JSON object a line, plain or gzip; "
           "*.parquet, *.arrow, one a row), or folders of documents, to read in place of token "
           "shards; []: the shards in data.path"),
       .is_path = true, .used_by = with_tokens},
      {KEY(data.tokens.field,
           "*.jsonl, *.parquet, *.arrow: key or column of the text of a document; a.b: b in a"),
       .used_by = with_tokens},
      {KEY(data.tokens.documents,
           "joined: samples are windows of one long text; packed: documents in a new order each "
           "epoch, whose tokens attend and count positions within their document alone"),
       .used_by = with_tokens},
      {KEY(data.tokens.vocabulary,
           "tokenizer of the text; auto: bytes, or for shards the one stored with them"),
       .used_by = with_tokens},
      {KEY(data.tokens.bpe_path,
           "gpt2: folder of encoder.json and vocab.bpe or of tokenizer.json, or this file; auto: "
           "the places where they are usually installed"),
       .is_path = true, .used_by = with_tokens},
      {KEY(data.tokens.val_share, "share of the text, at its end, kept for evaluation"),
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true}, .used_by = with_tokens},
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
      {KEY(data.hdf5.cache_mib, "decoded chunks of an HDF5 file to keep in memory"),
       .range = at_least(1, max_size), .unit = "MiB", .used_by = with_hdf5, .shapes_result = false},
      {KEY(data.hdf5.task,
           "what the target is; auto: as its type and name have it, where they agree; class: "
           "integers are labels; value: floating-point numbers are to be found"),
       .used_by = with_hdf5},
      // Paths inside the file. Dimensions: N samples, H height, W width, C channels,
      // F features, T tokens, K values.
      {KEY(data.hdf5.train.input,
           "dataset of the file: images (N, H, W, C), features (N, F) or tokens (N, T); auto: "
           "train/images, train/features or train/tokens"),
       .used_by = with_hdf5},
      {KEY(data.hdf5.train.target,
           "dataset of the file: labels (N), values (N) or (N, K), tokens (N, T), images (N, H, W, "
           "C) or masks (N, H, W); auto: train/labels, values, targets, target_images or masks"),
       .used_by = with_hdf5},
      {KEY(data.hdf5.test.input, "the same for the test samples"), .used_by = with_hdf5},
      {KEY(data.hdf5.test.target, "the same for the test samples"), .used_by = with_hdf5},
      {KEY(data.npy.task, "what the target is, as data.hdf5.task"), .used_by = with_npy},
      {KEY(data.npy.test_share, "share of the rows kept for testing, when there is no x_test"),
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true}, .used_by = with_npy},
      // Names of files in the folder, or of arrays in the archive, without .npy.
      {KEY(data.npy.train.input,
           "array of shapes as those of data.hdf5.train.input; auto: x_train, images_train, "
           "features_train or tokens_train, also as train_images or x"),
       .is_path = true, .used_by = with_npy},
      {KEY(data.npy.train.target,
           "array of shapes as those of data.hdf5.train.target; auto: y_train, labels_train, "
           "values_train, targets_train, target_images_train or masks_train, also as train_labels "
           "or y"),
       .is_path = true, .used_by = with_npy},
      {KEY(data.npy.test.input, "the same for the test samples"), .is_path = true,
       .used_by = with_npy},
      {KEY(data.npy.test.target, "the same for the test samples"), .is_path = true,
       .used_by = with_npy},
      {KEY(data.image.size,
           "height and width of the images that the model reads; 0: 224 for files of images, else "
           "as stored"),
       .range = at_least(0, 16384), .unit = "pixels", .used_by = stored_images()},
      {KEY(data.image.eval_size, "the same in evaluations and predictions; 0: data.image.size"),
       .range = at_least(0, 16384), .unit = "pixels", .used_by = stored_images()},
      {KEY(data.image.fit,
           "how an image becomes a square: crop: its middle; pad: all of it, with black bars; "
           "squash: all of it, with its sides scaled apart"),
       .used_by = stored_images()},
      {KEY(data.image.test_share,
           "share of each class kept for testing, when there are no files for it"),
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = {"data.name", {"image_folder", "webdataset"}}},
  };
}

// Images with a target of their own: files in pairs, or a degraded copy of each image.
std::vector<Field> pair_fields() {
  const Use with_pairs = {"data.name", {"image_pairs"}};
  const Use with_masks = {"data.name", {"hdf5", "image_pairs", "npy"}};
  Use with_any_images = stored_images();
  with_any_images.words.emplace_back("synthetic");
  return {
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
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true}, .used_by = with_pairs},
      {KEY(data.degrade.kind,
           "what is done to each image to get the model's input, with the image as its target: "
           "noise is added, or its resolution is lowered; none: images have no such target"),
       .used_by = with_any_images},
      {KEY(data.degrade.noise, "standard deviation of the noise, of pixels from 0 to 1"),
       .range = {.low = 0, .high = 1, .low_open = true},
       .used_by = {"data.degrade.kind", {"noise"}}},
      {KEY(data.degrade.scale, "squares of this side become one pixel, their mean"),
       .range = at_least(2, 64), .unit = "pixels", .used_by = {"data.degrade.kind", {"downscale"}}},
      {KEY(data.degrade.upscale, "how the small image gets its size back"),
       .used_by = {"data.degrade.kind", {"downscale"}}},
  };
}

}  // namespace spire::schema_parts
