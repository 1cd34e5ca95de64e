// Dataset of pairs of image files: an image, and its target, which is an image or a mask of the
// same size; and functions that list such pairs.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/dataset.h"

namespace spire {

struct ImagePair {
  std::filesystem::path input, target;
};

struct PairListing {
  std::vector<ImagePair> pairs = {};    // sorted by the inputs' names, or as the CSV file has them
  std::vector<std::string> notes = {};  // for the user: targets without an input
};

// Pairs the images below folder/input with those below folder/target that have the same name,
// whatever the extension. Throws Error(data) if a folder is missing, or if an input has no target
// or several.
PairListing list_pair_folders(const std::filesystem::path& folder);

// Reads a CSV file of two columns, paths of an input and of its target, relative to the file's
// folder. A first row "input,target" is a header. Throws Error(data) for a row without exactly two
// fields, and for a missing file.
PairListing list_pair_file(const std::filesystem::path& csv);

struct PairSplits {
  PairListing train, test, val = {};    // no pairs of `val`: there is none
  std::vector<std::string> notes = {};  // for the user: parts that are not read
};

// Lists the pairs of data.path:
//   a folder with train/input, train/target and test and val likewise (part_names.h);
//   a folder with train.csv, and test.csv and val.csv;
//   a folder with input and target, or one CSV file: a share of the pairs is kept for testing.
// test_share: 1 makes all of them training and test pairs (ReadOptions::all_test). val: as in
// choose_parts(). Throws Error(data), also if a part is empty.
PairSplits list_pairs(const std::filesystem::path& path, double test_share,
                      const ValConfig& val = {});

// Columns: images (H, W, 3), and target_images (H, W, 3) or masks (H, W). Each read decodes both
// files, resizes them to data.image.size, if it is given, and augments both alike.
DatasetPair open_image_pairs(const DataConfig& config, const ReadOptions& options);

}  // namespace spire
