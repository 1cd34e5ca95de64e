// What one sample of a dataset is: the tensors that a batch holds a row of each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/shape.h"

namespace spire::inline data {

// The names that models know, and the types of their rows:
//   images (H, W, C), features (F)   of the compute dtype    what a model reads
//   tokens (T)                       i32                     what a language model reads
//   labels ()                        i32, in [0, classes)    the class of an image or of features
//   targets (T)                      i32                     the token that follows each token
//   values (K)                       f32                     what a regression is to find
//   other_labels (), mix ()          i32, f32                of mixed images: the label is
//                                                            mix x labels + (1 - mix) x
//                                                            other_labels
struct Column {
  std::string name;
  Shape shape = {};  // of a row; () is one number
  DType dtype = DType::f32;

  size_t row_bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
  bool operator==(const Column&) const = default;
};

// A stored number x becomes (x - mean) / stddev. Of images: one mean a channel, x is pixel / 255.
// Of features: one mean a feature.
struct Normalization {
  std::vector<double> mean, stddev;  // (C) or (F), or empty: numbers as they are; stddev > 0

  bool operator==(const Normalization&) const = default;
};

// What a model has to know of its data, and what a trained model's user has to know to feed it.
struct SampleSpec {
  std::vector<Column> columns;  // the first is what the model reads
  int64_t classes = 0;          // labels: how many; tokens: size of the vocabulary; values: 0
  std::vector<std::string> class_names = {};    // of labels; empty: unknown
  Normalization normalization = {};             // of images or features
  std::vector<std::string> feature_names = {};  // (F); empty: unknown
  std::string vocabulary = {};  // of tokens, as make_vocabulary() reads it; empty: unknown

  // The column of that name, null when there is none.
  const Column* find(const std::string& name) const;
  bool operator==(const SampleSpec&) const = default;
};

// As JSON, and back: from_text(to_text(spec)) == spec. Names that are no UTF-8 keep what of them
// is. Throws Error(checkpoint), naming the key, for a text that describes no samples.
std::string to_text(const SampleSpec& spec);
SampleSpec sample_spec_from_text(const std::string& text);

}  // namespace spire::inline data
