// Schema of a dataset's samples: the columns of a batch, classes, normalization and names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/shape.h"

namespace spire::inline data {

// A tensor of a batch. Names that models know, with the shape and dtype of a row:
//   images (H, W, C), features (F)   compute dtype      input of a model
//   tokens (T)                       i32                input of a language model
//   labels ()                        i32                class in [0, classes)
//   targets (T)                      i32                the token after each token
//   values (K)                       f32                targets of a regression
//   other_labels (), mix ()          i32, f32           of mixed images, whose label is
//                                                       mix x labels + (1 - mix) x other_labels
struct Column {
  std::string name;
  Shape shape = {};  // of a row; () is one number
  DType dtype = DType::f32;

  size_t row_bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
  bool operator==(const Column&) const = default;
};

// Standardization (x - mean) / stddev, by channel of images (x = pixel / 255) or by feature.
struct Normalization {
  std::vector<double> mean, stddev;  // (C) or (F); empty: identity; stddev > 0

  bool operator==(const Normalization&) const = default;
};

struct SampleSpec {             // for which a model is built; a checkpoint contains it
  std::vector<Column> columns;  // the first is the model's input
  int64_t classes = 0;          // of labels; tokens: vocabulary size; values: 0
  std::vector<std::string> class_names = {};    // of labels; empty: unknown
  Normalization normalization = {};             // of images or features
  std::vector<std::string> feature_names = {};  // (F); empty: unknown
  std::string vocabulary = {};  // of tokens, as make_vocabulary() reads it; empty: unknown

  const Column* find(const std::string& name) const;  // by name; null: none
  bool operator==(const SampleSpec&) const = default;
};

// Convert to JSON (invalid UTF-8 replaced) and back. Throws Error(checkpoint) naming the key.
std::string to_text(const SampleSpec& spec);
SampleSpec sample_spec_from_text(const std::string& text);

}  // namespace spire::inline data
