// Labelled images in memory, and the table of datasets that the config may name.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace spire {

struct Dataset {
  std::vector<uint8_t> pixels;  // (N, H, W, C)
  std::vector<int32_t> labels;  // (N), each in [0, classes)
  int64_t count = 0, height = 0, width = 0, channels = 0, classes = 0;

  int64_t image_size() const { return height * width * channels; }  // elements
};

// Per channel, of pixel / 255: an image is normalised as (pixel / 255 - mean) / stddev.
struct Normalization {
  std::vector<double> mean, stddev;  // (C); stddev > 0
};

struct DatasetPair {
  Dataset train, test;          // same image shape and classes
  Normalization normalization;  // of train
};

// Opens a dataset by name: "fashion_mnist" or "idx". `path` is the folder with the four files
// {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz]; for fashion_mnist "auto" looks in
// $SPIRE_DATA/fashion-mnist, ./data/fashion-mnist and /usr/share/datasets/fashion-mnist.
// Throws Error(config) for an unknown name or a path that is missing from the config, Error(data)
// for everything that is wrong with the files.
DatasetPair open_dataset(const std::string& name, const std::string& path);
std::vector<std::string> dataset_names();

// The first of the folders that holds training images. Error(data) lists all, then `advice`.
std::filesystem::path find_dataset(const std::vector<std::filesystem::path>& folders,
                                   const std::string& advice);

// Mean and population standard deviation, in fp64 from a histogram of the pixels (so exact up to
// the last rounding, and independent of their order). Throws Error(data) for a constant channel.
Normalization normalization_of(const Dataset& dataset);

}  // namespace spire
