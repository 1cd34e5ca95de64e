// What it is trained on.
#include <algorithm>

#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

namespace {

// What all datasets share, and how their images are augmented.
std::vector<Field> common_fields() {
  const Use with_files = {
      "data.name",
      {"cifar10", "cifar100", "csv", "fashion_mnist", "hdf5", "idx", "image_folder", "tokens"}};
  const Use with_stored_images = stored_images();
  return {
      {.path = "data.name",
       .slot = [](C& c) -> Slot { return &c.data.name; },
       .help = "dataset; docs/formats.md describes the files of each",
       .choices = {"cifar10", "cifar100", "csv", "fashion_mnist", "hdf5", "idx", "image_folder",
                   "synthetic", "tokens"}},
      {.path = "data.path",
       .slot = [](C& c) -> Slot { return &c.data.path; },
       .help = "folder of the files (csv, hdf5: the file), relative to the current directory; "
               "auto: the "
               "places where the dataset is usually installed",
       .used_by = with_files},
      {.path = "data.workers",
       .slot = [](C& c) -> Slot { return &c.data.workers; },
       .help = "reader threads that prepare batches",
       .range = at_least(1, 1024),
       .unit = "threads"},
      {.path = "data.prefetch",
       .slot = [](C& c) -> Slot { return &c.data.prefetch; },
       .help = "batches prepared ahead of the step that needs them",
       .range = at_least(1, 1024),
       .unit = "global batches"},
      {.path = "data.last_batch",
       .slot = [](C& c) -> Slot { return &c.data.last_batch; },
       .help =
           "a smaller last batch of an epoch is used with its true weight (weighted), or dropped",
       .choices = {"weighted", "drop"}},
      {.path = "data.shuffle",
       .slot = [](C& c) -> Slot { return &c.data.shuffle; },
       .help =
           "order of samples in an epoch: full: any order; chunk: chunks of an HDF5 file in random "
           "order, and samples shuffled within a few chunks; auto: chunk for hdf5, else full",
       .choices = {"auto", "full", "chunk"}},
      {.path = "data.on_error",
       .slot = [](C& c) -> Slot { return &c.data.on_error; },
       .help = "a broken sample stops the run, or is counted and skipped",
       .choices = {"stop", "skip"},
       .used_by = {"data.name", {"csv", "hdf5", "image_folder"}}},
      {.path = "data.normalize",
       .slot = [](C& c) -> Slot { return &c.data.normalize; },
       .help = "images: standard: (pixel / 255 - mean) / stddev; unit: pixel / 255; auto: unit "
               "for models that make images, else standard",
       .choices = {"auto", "standard", "unit"},
       .used_by = with_stored_images},
      {.path = "data.mean",
       .slot = [](C& c) -> Slot { return &c.data.mean; },
       .help = "of pixel / 255, one number per channel; []: the dataset's own",
       .range = {.low = -1e6, .high = 1e6},
       .used_by = with_stored_images},
      {.path = "data.stddev",
       .slot = [](C& c) -> Slot { return &c.data.stddev; },
       .help = "of pixel / 255, one number per channel; []: the dataset's own",
       .range = {.low = 0, .high = 1e6, .low_open = true},
       .used_by = with_stored_images},
  };
}

std::vector<Field> cifar100_fields() {
  return {
      {.path = "data.cifar100.labels",
       .slot = [](C& c) -> Slot { return &c.data.cifar100.labels; },
       .help = "the 100 fine classes, or the 20 coarse ones",
       .choices = {"fine", "coarse"},
       .used_by = {"data.name", {"cifar100"}}},
  };
}

std::vector<Field> csv_fields() {
  const Use with_csv = {"data.name", {"csv"}};
  return {
      {.path = "data.csv.header",
       .slot = [](C& c) -> Slot { return &c.data.csv.header; },
       .help = "whether the first row holds column names; auto: yes when none of its fields is a "
               "number",
       .choices = {"auto", "true", "false"},
       .used_by = with_csv},
      {.path = "data.csv.separator",
       .slot = [](C& c) -> Slot { return &c.data.csv.separator; },
       .help = "separator of fields; auto: the one that splits the first row into the most fields",
       .choices = {"auto", "comma", "semicolon", "tab"},
       .used_by = with_csv},
      {.path = "data.csv.target",
       .slot = [](C& c) -> Slot { return &c.data.csv.target; },
       .help = "column to predict: its name, its number counted from 0, or last",
       .used_by = with_csv},
      {.path = "data.csv.task",
       .slot = [](C& c) -> Slot { return &c.data.csv.task; },
       .help = "whether the target is a class or a value; auto: a value when it has numbers that "
               "are not whole, or more than 100 different ones, else a class",
       .choices = {"auto", "class", "value"},
       .used_by = with_csv},
      {.path = "data.csv.ignore",
       .slot = [](C& c) -> Slot { return &c.data.csv.ignore; },
       .help = "columns that are left out, by name or number from 0; auto: one that numbers the "
               "rows, called id, index or nothing; []: none",
       .used_by = with_csv},
      {.path = "data.csv.test_share",
       .slot = [](C& c) -> Slot { return &c.data.csv.test_share; },
       .help = "share of the rows kept for testing, when there is no test.csv",
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = with_csv},
  };
}

std::vector<Field> synthetic_fields() {
  const Use with_synthetic = {"data.name", {"synthetic"}};
  return {
      {.path = "data.synthetic.kind",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.kind; },
       .help = "what the random samples are",
       .choices = {"images", "features", "tokens"},
       .used_by = with_synthetic},
      {.path = "data.synthetic.shape",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.shape; },
       .help = "shape of a sample: images [height, width, channels], features [F], tokens [T]",
       .range = at_least(1, kSizes),
       .used_by = with_synthetic},
      {.path = "data.synthetic.classes",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.classes; },
       .help = "number of classes; tokens: size of the vocabulary",
       .range = at_least(2, kSizes),
       .used_by = with_synthetic},
      {.path = "data.synthetic.samples",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.samples; },
       .help = "for training",
       .range = at_least(1, kSteps),
       .unit = "samples",
       .used_by = with_synthetic},
      {.path = "data.synthetic.test_samples",
       .slot = [](C& c) -> Slot { return &c.data.synthetic.test_samples; },
       .help = "for evaluation",
       .range = at_least(1, kSteps),
       .unit = "samples",
       .used_by = with_synthetic},
  };
}

std::vector<Field> tokens_fields() {
  const Use with_tokens = {"data.name", {"tokens"}};
  return {
      {.path = "data.tokens.length",
       .slot = [](C& c) -> Slot { return &c.data.tokens.length; },
       .help = "length of a sample",
       .range = at_least(1, kSizes),
       .unit = "tokens",
       .used_by = with_tokens},
      {.path = "data.tokens.text",
       .slot = [](C& c) -> Slot { return &c.data.tokens.text; },
       .help = "text files, plain or gzip, to read in place of token shards; []: the shards in "
               "data.path",
       .used_by = with_tokens},
      {.path = "data.tokens.vocabulary",
       .slot = [](C& c) -> Slot { return &c.data.tokens.vocabulary; },
       .help = "tokenizer of the text; auto: bytes, or for shards the one stored with them",
       .choices = {"auto", "bytes", "characters", "gpt2"},
       .used_by = with_tokens},
      {.path = "data.tokens.bpe_path",
       .slot = [](C& c) -> Slot { return &c.data.tokens.bpe_path; },
       .help = "gpt2: folder of encoder.json and vocab.bpe; auto: the places where they are "
               "usually installed",
       .used_by = with_tokens},
      {.path = "data.tokens.val_share",
       .slot = [](C& c) -> Slot { return &c.data.tokens.val_share; },
       .help = "share of the text, at its end, kept for evaluation",
       .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .used_by = with_tokens},
  };
}

}  // namespace

std::vector<Field> data_fields() {
  std::vector<Field> fields;
  for (auto part : {common_fields, cifar100_fields, csv_fields, synthetic_fields, tokens_fields})
    std::ranges::copy(part(), std::back_inserter(fields));
  return fields;
}

}  // namespace spire::inline config::schema_parts
