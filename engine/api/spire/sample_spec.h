// Schema of a dataset's samples: the columns of a batch, classes, normalization and names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <spire/dtype.h>
#include <spire/export.h>
#include <spire/shape.h>

namespace spire::inline data {

// A column: one of the tensors of a batch, with one row per sample. Names that models know, with
// the shape and dtype of a row:
//   images (H, W, C), features (F)   compute dtype      input of a model
//   tokens (T)                       i32                input of a language model
//   labels ()                        i32                class in [0, classes)
//   targets (T)                      i32                the token that follows each token
//   values (K)                       f32                targets of a regression
//   target_images (H, W, C)          compute dtype      the image to make of `images`, from 0 to 1
//   masks (H, W)                     i32                class of each pixel, or -1: it has none
//   other_labels (), mix ()          i32, f32           for mixed samples (images/mix.h): the loss
//                                                       counts labels with weight mix, and
//                                                       other_labels with weight 1 - mix
struct Column {
  std::string name;
  Shape shape = {};  // of one row; () is a single number
  DType dtype = DType::f32;

  size_t row_bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
  bool operator==(const Column&) const = default;
};

// Standardization (x - mean) / stddev of each channel of images, x = pixel / 255, or each feature.
struct Normalization {
  std::vector<double> mean, stddev;  // (C) or (F), stddev > 0; empty: values stay as they are

  bool operator==(const Normalization&) const = default;
};

struct SPIRE_API SampleSpec {   // what a model is built for; every checkpoint contains it
  std::vector<Column> columns;  // the first one is the model's input
  int64_t classes = 0;          // of labels or masks; for tokens the vocabulary's size; else 0
  std::vector<std::string> class_names = {};    // (classes); empty if unknown
  Normalization normalization = {};             // of images or features
  std::vector<std::string> feature_names = {};  // (F); empty if unknown
  std::string vocabulary = {};                  // text for make_vocabulary(); empty if unknown

  const Column* find(const std::string& name) const;  // null if no column has this name
  bool operator==(const SampleSpec&) const = default;
};

}  // namespace spire::inline data
